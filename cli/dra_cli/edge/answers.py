"""Prints what came of `dra allocate`: objects as YAML, reasons as JSON, and who has no place."""

from collections.abc import Iterable, Sequence

import click
import msgspec
import yaml

from dra_allocator.core.books.cards import Cards
from dra_api_bridge.core.objects import KubeObject
from dra_cli.core.answer import Decision, changed_objects, explained
from dra_cli.core.ground import Ground
from dra_cli.core.manifests import Manifest
from dra_cli.core.sentences import counted
from dra_cli.edge.screen import show_document
from dra_cli.exits import WrongError
from dra_shared.events.allocations import ClaimAllocated, ClaimUnsatisfiable
from dra_shared.kube.core import Pod


def warn(ground: Ground, cards: Cards) -> None:
    """Says on stderr what makes the answer doubtful."""
    if ground.unread:
        count = counted(len(ground.unread), "fact")
        click.echo(
            f"warning: {count} of the log, the first at sequence {ground.unread[0]}, cannot be "
            "read by this release: its allocator would not go on from there",
            err=True,
        )
    for card, devices in sorted(cards.twice.items()):
        both = " and ".join(map(str, devices))
        click.echo(f"warning: {both} are one card, {card.bus_id} of {card.node}", err=True)


def show_reasons(decisions: Iterable[Decision], ground: Ground) -> None:
    """Prints why, as JSON; each answer says for which place of the log it holds, if there is one."""
    where = {"sequence": ground.sequence, "time": ground.time} if ground.log else {}
    show_document([{**msgspec.to_builtins(explained(one)), **where} for one in decisions], "json")
    if ground.log:
        click.echo(f"decided on {ground.place}", err=True)


def show_objects(
    decisions: Iterable[Decision],
    ground: Ground,
    manifests: Iterable[Manifest],
    objects: Sequence[KubeObject],
) -> None:
    """Prints the objects that change, as YAML, under the place of the log that this holds for."""
    if ground.log:
        click.echo(f"# decided on {ground.place}")
    known = {one.metadata.uid for one in objects}
    mine = [one for one in decisions if one.pod.uid in known]
    changed = list(changed_objects(mine, manifests, objects))
    if changed:
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        text = yaml.dump_all(changed, Dumper=dumper, sort_keys=False, allow_unicode=True)
        click.echo(text, nl=False)
    for one in decisions:
        if one.pod.uid not in known and isinstance(one, ClaimAllocated):
            click.echo(f"pod {one.pod}, which waits in the log, would go to {one.node}", err=True)


def judge(pods: Sequence[Pod], decisions: Sequence[Decision]) -> None:
    """Raises WrongError if some pod has no place."""
    known = {one.pod.uid: one for one in decisions}
    lines = []
    for pod in pods:
        name = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
        match known.get(pod.metadata.uid):
            case ClaimUnsatisfiable() as no:
                lines.append(f"{name} {no.refusal}: {no.summary}")
            case None:
                lines.append(f"{name} waits: a claim of it is being deleted, or is not its own")
            case ClaimAllocated():
                pass
    if lines:
        summary = f"{counted(len(lines), 'pod')} of {len(pods)} cannot be placed"
        raise WrongError("\n".join((summary, *lines)))
