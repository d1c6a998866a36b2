"""`dra allocate`: the allocator on manifests, alone or on top of what a log tells."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from click.core import ParameterSource

from dra_allocator.core.policy import DEFAULT, POLICIES
from dra_api_bridge.core.features import UnknownFeatureError, check, features
from dra_api_bridge.core.objects import KubeObject
from dra_cli.commands.options import at_option, run, source_options
from dra_cli.core.answer import last_words
from dra_cli.core.completion import (
    MissingObjectError,
    NoSuchPodError,
    There,
    complete,
    waiting,
)
from dra_cli.core.ground import Ground, described
from dra_cli.core.manifests import BadManifestError, Reading, read
from dra_cli.core.position import Position
from dra_cli.core.rehearsal import NEWEST
from dra_cli.core.what_if import Terms, features_of, what_if
from dra_cli.edge.answers import judge, show_objects, show_reasons, warn
from dra_cli.edge.documents import NoManifestsError, documents
from dra_cli.edge.logs import Source, opened, records
from dra_cli.exits import NotFoundError
from dra_shared.events.cluster import FeaturesObserved
from dra_shared.kube.claims import ResourceClaim

RELEASES: Final = ("1.34", "1.35", "1.36", "1.37")

HELP: Final = """\
Let the allocator decide on manifests: in a cluster that holds just these objects, or with --live
in the cluster that the log tells of. Nothing is ever written.

It reads ResourceSlices, DeviceClasses, DeviceTaintRules, ResourceClaims and their templates, Pods,
Nodes and Namespaces. Claims with an allocation, and pods with a node, count as they are; the other
pods ask for their claims, and a claim that no pod uses asks for itself. Without any Node, there is
one for each that the slices name.

It prints the claims with what they got and the pods with their nodes, as YAML: what one run prints
is a manifest for the next. With --explain it prints why, as JSON. The same manifests always give
the same answer, and so do the same manifests on the same place of a log.

With --live the manifests are put on top of a state folded from the log, up to its end or to --at:
all its nodes, devices, claims and waiting pods are there, and pods may use its claims. A manifest
of something that the log has already is refused. Pods of the log that wait take part and are told
of when they would get a place. The answer names the place in the log that it holds for. --nats,
--log or --at on the command line mean --live too.

\b
Examples: would a claim for two GPUs of one NUMA node fit, now, or before that node was lost?
  dra allocate -f my-claim.yaml --live
  dra allocate -f my-claim.yaml --at 2026-11-30T15:04:05Z --explain | jq '.[].summary'
\b
Would the pods that wait find a place if there were one node more?
  dra allocate -f node-and-slices.yaml --live
\b
One step after the other, on one place of the log:
  dra allocate -f a.yaml --at 1234 | dra allocate -f - -f b.yaml --at 1234
\b
Without any log:
  kubectl get -A -o yaml resourceslices,deviceclasses,resourceclaims,nodes > cluster.yaml
  dra allocate -f cluster.yaml -f my-claim.yaml

Exit code 0 if every pod has a place, 1 if some pod has none, 2 if a manifest is wrong or the log
has its object already, 3 if the log cannot be read, 4 if there is no such pod or place.
"""

SHOWN: Final = 8
"""Clashes that are named; the rest is a number."""

LEAVE_OUT: Final = "Leave out what is there, and give other names to what is not."


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks; None is what it does not say."""

    reading: Reading
    pod: str
    policy: str | None
    release: str | None
    overrides: str
    explain: bool


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
    help="The order in which nodes and devices are tried.  "
    f"[default: that of the newest decision in the log, else {DEFAULT}]",
)
@click.option(
    "--release",
    type=click.Choice(RELEASES),
    help="What this Kubernetes has on by default; else what the log says, else all.",
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
@click.option("--live", is_flag=True, help="Put the manifests on top of what the log tells.")
@at_option
@source_options
def command(  # noqa: PLR0913 - one per option, that is how click calls
    *,
    names: tuple[str, ...],
    lenient: bool,
    live: bool,
    at: Position,
    nats: str,
    log: Path | None,
    **asked: Any,
) -> None:
    """Runs `dra allocate`."""
    question = Question(reading=_read(names, lenient=lenient), **asked)
    ground = Ground()
    if live or _names_a_log():
        source = Source(nats, log)
        ground = Ground(str(source))
        run(_fold(ground, source, at))
    there = ground.there(one.object for one in question.reading.manifests)
    objects = _complete(question, there, f", nor in {ground.place}" if ground.log else "")
    _refuse_clashes(question.reading, ground, objects)
    rehearsal = what_if(ground, there, objects, _terms(question, ground))
    decisions = last_words(rehearsal.decide())
    warn(ground, rehearsal.engine.state.cards)
    if question.explain:
        show_reasons(decisions, ground)
    else:
        known = (*there.claims, *objects)
        show_objects(decisions, ground, question.reading.manifests, known)
    judge(waiting(objects), decisions)


def _names_a_log() -> bool:
    context = click.get_current_context()
    return any(
        context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        for name in ("at", "nats", "log")
    )


async def _fold(ground: Ground, source: Source, at: Position) -> None:
    async with opened(source) as log:
        async for record in records(log, at):
            ground.take(record)


def _terms(question: Question, ground: Ground) -> Terms:
    return Terms(
        policy=question.policy or ground.policy,
        features=_features(question, ground),
        alone=bool(question.pod),
    )


def _features(question: Question, ground: Ground) -> FeaturesObserved | None:
    """Those that were asked for; without a word those of the log, without a log all."""
    listed = tuple(each.strip() for each in question.overrides.split(",") if each.strip())
    try:
        check(listed)
    except UnknownFeatureError as error:
        raise click.BadParameter(str(error), param_hint="--features") from error
    if ground.log and not listed and not question.release:
        return None
    known = features_of(ground) if ground.log else NEWEST
    probed = {} if question.release else dict.fromkeys(known.features, True)
    major, minor = (question.release or "1.0").split(".")
    return FeaturesObserved(
        server_version=question.release or known.server_version,
        features=features(major, minor, probed, listed),
    )


def _read(names: Sequence[str], *, lenient: bool) -> Reading:
    try:
        reading = read(documents(names), lenient=lenient)
    except (NoManifestsError, BadManifestError) as error:
        raise click.UsageError(str(error)) from error
    for what in reading.left_out:
        click.echo(f"left out: {what}", err=True)
    return reading


def _complete(question: Question, there: There, nor: str) -> tuple[KubeObject, ...]:
    reading = question.reading
    try:
        return complete((one.object for one in reading.manifests), question.pod, there)
    except NoSuchPodError as error:
        raise NotFoundError(str(error)) from error
    except MissingObjectError as error:
        uid, name = error.pod.metadata.uid, error.pod.metadata.name
        where = next(m.document for m in reading.manifests if m.object.metadata.uid == uid)
        raise click.UsageError(f"{where}, Pod {name}: {error}{nor}") from error


def _refuse_clashes(reading: Reading, ground: Ground, objects: Sequence[KubeObject]) -> None:
    """Raises UsageError if the log has some of the manifests' objects already."""
    given = {one.object.metadata.uid: str(one.document) for one in reading.manifests}
    made = [one for one in objects if one.metadata.uid not in given]
    checked = [one.object for one in reading.manifests]
    checked += [one for one in made if isinstance(one, ResourceClaim)]
    found = [
        f"{given.get(one.metadata.uid, 'made from a template')}, {described(one)}"
        for one in ground.clashes(checked)
    ]
    if found:
        rest = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        head = f"in {ground.place} there is already:"
        raise click.UsageError("\n".join((head, *found[:SHOWN], *rest, LEAVE_OUT)))
