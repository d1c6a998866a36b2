"""Every fact as a sentence for people. A test holds this table to have them all."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from dra_shared.events import allocations, claims, cluster, envelope, mirror, nodes, pools, writers
from dra_shared.events.fact import Fact
from dra_shared.log.protocol import Record

SHOWN: Final = 4
"""Names in one sentence at most; the rest is a number."""


def line(record: Record) -> str:
    """A record on one line: sequence, time, tag, what happened."""
    fact = record.envelope.fact
    return f"{record.sequence:>7}  {clock(record.time_ns)}  {tag_of(fact):<32}  {sentence(fact)}"


def sentence(fact: Fact) -> str:
    """What the fact says."""
    return SENTENCES[type(fact)](fact)


def tag_of(fact: Fact) -> str:
    """The fact's name on the wire; for a fact of a later release the name it has there."""
    if isinstance(fact, envelope.UnknownFact):
        return fact.wire_tag
    return str(fact.__struct_config__.tag)


def clock(time_ns: int) -> str:
    """The time of day in UTC to the millisecond, as `15:04:05.678`."""
    return instant(time_ns)[11:23]


def instant(time_ns: int) -> str:
    """RFC 3339 in UTC to the millisecond."""
    moment = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ns // 1_000_000 % 1000:03}Z"


def several(names: Iterable[object]) -> str:
    """The names with commas between them, cut short when there are many."""
    all_names = [str(name) for name in names]
    rest = f" and {len(all_names) - SHOWN} more" if len(all_names) > SHOWN else ""
    return (", ".join(all_names[:SHOWN]) or "nothing") + rest


def devices(costs: Iterable[allocations.Cost]) -> str:
    """The devices with these costs, and what stands for the same cards."""
    cards = [cost.device for cost in costs if cost.card_of is not None]
    given = several(cost.device for cost in allocations.of_results(costs))
    return f"{given}, one card with {several(cards)}" if cards else given


def counted(number: int, noun: str) -> str:
    """`1 device`, `2 devices`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _allocated(fact: allocations.ClaimAllocated) -> str:
    new = [f"{got.claim} = {devices(got.costs)}" for got in fact.claims]
    shared = [f"{claim} (shared)" for claim in fact.shared]
    return f"pod {fact.pod} on {fact.node}: {'; '.join(new + shared)} [{fact.policy}]"


def _unsatisfiable(fact: allocations.ClaimUnsatisfiable) -> str:
    return f"pod {fact.pod} {fact.refusal}: {fact.summary}"


def _adopted(fact: allocations.AllocationAdopted) -> str:
    clash = f", in conflict over {several(fact.conflicts)}" if fact.conflicts else ""
    return f"{fact.claim} was given {devices(fact.costs)} by others{clash}"


def _pod_requested(fact: claims.PodRequested) -> str:
    group = f", one of group {fact.group.name} ({fact.group.size})" if fact.group else ""
    return f"pod {fact.pod} waits for {several(fact.claims)}{group}"


def _node_observed(fact: cluster.NodeObserved) -> str:
    cordoned = ", unschedulable" if fact.unschedulable else ""
    free = f"{fact.cpu_milli} mCPU, {fact.memory_bytes >> 20} MiB, {fact.pods} pods"
    return f"node {fact.name} has {free} left for pods of ours{cordoned}"


def _prepare_failed(fact: nodes.ClaimPrepareFailed) -> str:
    kind = "for good" if fact.permanent else "for now"
    return f"{fact.claim} not set up on {fact.node}, {kind} (try {fact.attempt}): {fact.cause}"


def _pool_published(fact: pools.PoolPublished) -> str:
    devices = sum(len(part.devices or ()) for part in fact.slices)
    return (
        f"pool {fact.driver}/{fact.pool} generation {fact.generation}: "
        f"{counted(devices, 'device')} in {counted(len(fact.slices), 'slice')}"
    )


def _cleared(fact: mirror.AllocationCleared) -> str:
    unfit = f", {fact.unfit_node} did not fit" if fact.unfit_node else ""
    message = f": {fact.message}" if fact.message else ""
    return f"allocation of {fact.claim} taken away by {fact.by}{unfit}{message}"


def _claim_on_node(verb: str) -> Callable[[Any], str]:
    return lambda f: f"{f.claim} {verb} on {f.node} by {f.driver}"


SENTENCES: Final[Mapping[type[Fact], Callable[[Any], str]]] = MappingProxyType(
    {
        nodes.AgentStarted: lambda f: f"agent of {f.node} serves {several(f.drivers)}",
        nodes.AgentStopped: lambda f: f"agent of {f.node} stopped: {f.reason}",
        nodes.DevicesReported: lambda f: (
            f"{f.node} has {counted(len(f.devices), 'device')} of {f.driver}"
        ),
        nodes.DeviceFaultRaised: lambda f: (
            f"{f.driver}/{f.node}/{f.device}: {f.cause} ({f.severity}) {f.message}".rstrip()
        ),
        nodes.DeviceFaultCleared: lambda f: f"{f.driver}/{f.node}/{f.device}: {f.cause} is over",
        nodes.ClaimPrepared: _claim_on_node("set up"),
        nodes.ClaimPrepareFailed: _prepare_failed,
        nodes.ClaimUnprepared: _claim_on_node("undone"),
        pools.PoolPublished: _pool_published,
        pools.PoolWithdrawn: lambda f: (
            f"pool {f.driver}/{f.pool} withdrawn: {f.reason}"
            f"{f' ({f.size} bytes)' if f.size else ''}"
        ),
        pools.NodeLost: lambda f: f"node {f.node} silent for {f.silent_for:g} s",
        pools.NodeReturned: lambda f: f"node {f.node} heard again",
        cluster.ClassObserved: lambda f: f"class {f.device_class.metadata.name}",
        cluster.ClassRemoved: lambda f: f"class {f.name} gone",
        cluster.TaintRuleObserved: lambda f: (
            f"taint rule {f.rule.metadata.name}: {f.rule.spec.taint.key} {f.rule.spec.taint.effect}"
        ),
        cluster.TaintRuleRemoved: lambda f: f"taint rule {f.name} gone",
        cluster.NodeObserved: _node_observed,
        cluster.NodeRemoved: lambda f: f"node {f.name} gone",
        cluster.ForeignSlicesObserved: lambda f: (
            f"pool {f.driver}/{f.pool} of another driver: {counted(len(f.slices), 'slice')}"
        ),
        cluster.ForeignSlicesChanged: lambda f: (
            f"pool {f.driver}/{f.pool} of another driver: {counted(len(f.slices), 'slice')} new or"
            f" different, {len(f.removed)} gone"
        ),
        cluster.ForeignSlicesRemoved: lambda f: f"pool {f.driver}/{f.pool} of another driver gone",
        cluster.FeaturesObserved: lambda f: (
            f"Kubernetes {f.server_version} knows {several(f.features)}"
        ),
        claims.ClaimRequested: lambda f: (
            f"{f.claim} wants {several(r.name for r in f.spec.devices.requests or ())}"
        ),
        claims.ClaimWithdrawn: lambda f: f"{f.claim} is gone",
        claims.PodRequested: _pod_requested,
        claims.PodWithdrawn: lambda f: f"pod {f.pod} is gone or has finished",
        allocations.ClaimAllocated: _allocated,
        allocations.ClaimUnsatisfiable: _unsatisfiable,
        allocations.ClaimReleased: lambda f: f"{f.claim} gave its devices back: {f.reason}",
        allocations.AllocationAdopted: _adopted,
        mirror.AllocationWritten: lambda f: (
            f"Kubernetes shows the allocation of {f.claim} (version {f.resource_version})"
        ),
        mirror.AllocationRefused: lambda f: (
            f"Kubernetes refused the allocation of {f.claim}: {f.status} {f.message}"
        ),
        mirror.AllocationCleared: _cleared,
        mirror.ForeignAllocationObserved: lambda f: f"{f.claim} was allocated by others",
        mirror.PodUngated: lambda f: f"pod {f.pod} let go, to {f.node}",
        mirror.PodRefused: lambda f: (
            f"Kubernetes refused to let pod {f.pod} go: {f.status} {f.message}"
        ),
        mirror.SliceRefused: lambda f: (
            f"Kubernetes refused a slice of {f.driver}/{f.pool}: {f.status} {f.message}"
        ),
        writers.EpochOpened: lambda f: f"{f.holder} writes as {f.writer} from here on",
        writers.StateRecorded: lambda f: (
            f"state of {f.writer} after {f.upto} has hash {f.state_hash}"
        ),
        envelope.UnknownFact: lambda f: f"a fact of a later release, {len(f.raw)} bytes",
        envelope.UnreadableFact: lambda f: f.why,
    }
)
