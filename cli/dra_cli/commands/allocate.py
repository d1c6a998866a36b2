"""`dra allocate`: the allocator on manifests, without a cluster and without a log."""

from collections.abc import Sequence
from typing import Final

import click
import msgspec
import yaml

from dra_allocator.core.policy import DEFAULT, POLICIES
from dra_api_bridge.core.features import UnknownFeatureError, check, features
from dra_api_bridge.core.objects import KubeObject
from dra_cli.core.answer import Decision, changed_objects, explained, last_words
from dra_cli.core.completion import MissingObjectError, NoSuchPodError, complete, waiting
from dra_cli.core.manifests import BadManifestError, Reading, read
from dra_cli.core.rehearsal import NEWEST, Rehearsal
from dra_cli.core.sentences import counted
from dra_cli.edge.documents import NoManifestsError, documents
from dra_cli.edge.screen import show_document
from dra_cli.exits import NotFoundError, WrongError
from dra_shared.events.allocations import ClaimAllocated, ClaimUnsatisfiable
from dra_shared.events.cluster import FeaturesObserved
from dra_shared.kube.core import Pod

RELEASES: Final = ("1.34", "1.35", "1.36", "1.37")

HELP: Final = """\
Let the allocator decide on manifests, as it would in a cluster that holds just these objects.

It reads ResourceSlices, DeviceClasses, DeviceTaintRules, ResourceClaims and their templates, Pods,
Nodes and Namespaces. Claims with an allocation, and pods with a node, count as they are; the other
pods ask for their claims, and a claim that no pod uses asks for itself. Without any Node, there is
one for each that the slices name.

It prints the claims with what they got and the pods with their nodes, as YAML: what one run prints
is a manifest for the next. With --explain it prints why, as JSON. The same manifests always give
the same answer.

\b
Example: would a claim for two GPUs of one NUMA node fit?
  kubectl get -A -o yaml resourceslices,deviceclasses,resourceclaims,nodes > cluster.yaml
  dra allocate -f cluster.yaml -f my-claim.yaml
  dra allocate -f cluster.yaml -f my-claim.yaml --explain | jq '.[].summary'
  dra allocate -f cluster.yaml -f a.yaml | dra allocate -f cluster.yaml -f - -f b.yaml

Exit code 0 if every pod has a place, 1 if some pod has none, 2 if a manifest is wrong, 4 if there
is no such pod.
"""


@click.command("allocate", help=HELP)
@click.option(
    "-f",
    "--filename",
    "names",
    multiple=True,
    required=True,
    metavar="PATH",
    help="A file, a folder of YAML files, or - for stdin; again for more.",
)
@click.option("--pod", default="", metavar="NAME", help="Only this pod asks, others do not wait.")
@click.option(
    "--policy",
    type=click.Choice(sorted(POLICIES)),
    default=DEFAULT,
    show_default=True,
    help="The order in which nodes and devices are tried.",
)
@click.option(
    "--release",
    type=click.Choice(RELEASES),
    help="What this Kubernetes has on by default; else every feature is on.",
)
@click.option(
    "--features",
    "overrides",
    default="",
    metavar="LIST",
    help="Switch on, or off with a minus: ListTypeAttributes,-DeviceTaints.",
)
@click.option("--explain", is_flag=True, help="Print the reasons as JSON instead.")
@click.option("--lenient", is_flag=True, help="Only warn of fields that nobody knows.")
def command(  # noqa: PLR0913 - one per option, that is how click calls
    *,
    names: tuple[str, ...],
    pod: str,
    policy: str,
    release: str | None,
    overrides: str,
    explain: bool,
    lenient: bool,
) -> None:
    """Runs `dra allocate`."""
    reading = _read(names, lenient=lenient)
    objects = _complete(reading, pod)
    rehearsal = Rehearsal(_features(release, overrides), policy)
    rehearsal.show(*objects)
    decisions = last_words(rehearsal.decide())
    for card, devices in sorted(rehearsal.engine.state.cards.twice.items()):
        both = " and ".join(map(str, devices))
        click.echo(f"warning: {both} are one card, {card.bus_id} of {card.node}", err=True)
    if explain:
        show_document([msgspec.to_builtins(explained(one)) for one in decisions], "json")
    else:
        _print(list(changed_objects(decisions, reading.manifests, objects)))
    _judge(waiting(objects), decisions)


def _read(names: Sequence[str], *, lenient: bool) -> Reading:
    try:
        reading = read(documents(names), lenient=lenient)
    except (NoManifestsError, BadManifestError) as error:
        raise click.UsageError(str(error)) from error
    for what in reading.left_out:
        click.echo(f"left out: {what}", err=True)
    return reading


def _complete(reading: Reading, only: str) -> tuple[KubeObject, ...]:
    try:
        return complete((one.object for one in reading.manifests), only)
    except NoSuchPodError as error:
        raise NotFoundError(str(error)) from error
    except MissingObjectError as error:
        uid, name = error.pod.metadata.uid, error.pod.metadata.name
        where = next(m.document for m in reading.manifests if m.object.metadata.uid == uid)
        raise click.UsageError(f"{where}, Pod {name}: {error}") from error


def _features(release: str | None, overrides: str) -> FeaturesObserved:
    listed = tuple(each.strip() for each in overrides.split(",") if each.strip())
    try:
        check(listed)
    except UnknownFeatureError as error:
        raise click.BadParameter(str(error), param_hint="--features") from error
    major, minor = (release or RELEASES[-1]).split(".")
    probed = {} if release else dict.fromkeys(NEWEST.features, True)
    return FeaturesObserved(
        server_version=release or NEWEST.server_version,
        features=features(major, minor, probed, listed),
    )


def _print(changed: list[dict[str, object]]) -> None:
    if changed:
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        text = yaml.dump_all(changed, Dumper=dumper, sort_keys=False, allow_unicode=True)
        click.echo(text, nl=False)


def _judge(pods: Sequence[Pod], decisions: Sequence[Decision]) -> None:
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
