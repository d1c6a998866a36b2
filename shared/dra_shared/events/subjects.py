"""On which subject each fact stands, and which subjects each reader asks for. One place, no more."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from dra_shared.events import allocations, claims, cluster, mirror, nodes, pools, writers
from dra_shared.events.fact import Fact
from dra_shared.ids import NO_NODE, escape

ROOT: Final = "dra"

EVERYTHING: Final = ("dra.>",)
NODES: Final = "dra.node.>"
POOLS: Final = "dra.pool.>"
CLUSTER: Final = "dra.cluster.>"
CLAIMS: Final = "dra.claim.>"
PODS: Final = "dra.pod.>"
ALLOCATIONS: Final = "dra.allocation.>"
MIRROR: Final = "dra.mirror.>"
OBJECTIONS: Final = "dra.mirror.*"
"""What Kubernetes did otherwise than decided, about claims and pods: decisions depend on that alone.
That it did as decided stands one token deeper, where those who decide need not read it."""


class NoSubjectError(TypeError):
    """A fact that nobody placed in the log: ours to mend, in this file."""


def of_node(node: str) -> str:
    """All that one node's agent may write."""
    return f"{ROOT}.node.{escape(node)}.>"


def allocations_on(node: str) -> str:
    """All decisions that concern one node."""
    return f"{ROOT}.allocation.{escape(node)}.>"


def epoch(writer: str) -> str:
    """Where a writer's epochs stand: the subject that fences its appends."""
    return f"{ROOT}.epoch.{escape(writer)}"


def subject(fact: Fact) -> str:
    """The one subject that the fact belongs on; raises NoSubjectError."""
    place = _PLACES.get(type(fact))
    if place is None:
        raise NoSubjectError(type(fact).__name__)
    return _join(*place(fact))


def _join(*tokens: str) -> str:
    return ".".join((ROOT, *(token if token == NO_NODE else escape(token) for token in tokens)))


def _node_claim(
    fact: nodes.ClaimPrepared | nodes.ClaimPrepareFailed | nodes.ClaimUnprepared,
) -> tuple[str, ...]:
    return ("node", fact.node, "claim", fact.claim.uid)


_PLACES: Final[Mapping[type[Fact], Callable[[Any], tuple[str, ...]]]] = MappingProxyType(
    {
        nodes.AgentStarted: lambda f: ("node", f.node, "agent"),
        nodes.AgentStopped: lambda f: ("node", f.node, "agent"),
        nodes.DevicesReported: lambda f: ("node", f.node, "devices", f.driver),
        nodes.DeviceFaultRaised: lambda f: ("node", f.node, "health", f.driver),
        nodes.DeviceFaultCleared: lambda f: ("node", f.node, "health", f.driver),
        nodes.ClaimPrepared: _node_claim,
        nodes.ClaimPrepareFailed: _node_claim,
        nodes.ClaimUnprepared: _node_claim,
        pools.PoolPublished: lambda f: ("pool", f.driver, f.pool),
        pools.PoolWithdrawn: lambda f: ("pool", f.driver, f.pool),
        pools.NodeLost: lambda f: ("pool", "node", f.node, "liveness"),
        pools.NodeReturned: lambda f: ("pool", "node", f.node, "liveness"),
        cluster.ClassObserved: lambda f: ("cluster", "class", f.device_class.metadata.name),
        cluster.ClassRemoved: lambda f: ("cluster", "class", f.name),
        cluster.TaintRuleObserved: lambda f: ("cluster", "taint-rule", f.rule.metadata.name),
        cluster.TaintRuleRemoved: lambda f: ("cluster", "taint-rule", f.name),
        cluster.NodeObserved: lambda f: ("cluster", "node", f.name),
        cluster.NodeRemoved: lambda f: ("cluster", "node", f.name),
        cluster.ForeignSlicesObserved: lambda f: ("cluster", "foreign-slices", f.driver, f.pool),
        cluster.ForeignSlicesChanged: lambda f: ("cluster", "foreign-slices", f.driver, f.pool),
        cluster.ForeignSlicesRemoved: lambda f: ("cluster", "foreign-slices", f.driver, f.pool),
        cluster.FeaturesObserved: lambda _: ("cluster", "features"),
        claims.ClaimRequested: lambda f: ("claim", f.claim.uid),
        claims.ClaimWithdrawn: lambda f: ("claim", f.claim.uid),
        claims.PodRequested: lambda f: ("pod", f.pod.uid),
        claims.PodWithdrawn: lambda f: ("pod", f.pod.uid),
        allocations.ClaimAllocated: lambda f: ("allocation", f.node, f.pod.uid),
        allocations.ClaimUnsatisfiable: lambda f: ("allocation", NO_NODE, f.pod.uid),
        allocations.ClaimReleased: lambda f: ("allocation", f.node or NO_NODE, f.claim.uid),
        allocations.AllocationAdopted: lambda f: ("allocation", f.node or NO_NODE, f.claim.uid),
        mirror.AllocationWritten: lambda f: ("mirror", f.claim.uid, "done"),
        mirror.AllocationRefused: lambda f: ("mirror", f.claim.uid),
        mirror.AllocationCleared: lambda f: ("mirror", f.claim.uid),
        mirror.ForeignAllocationObserved: lambda f: ("mirror", f.claim.uid),
        mirror.PodUngated: lambda f: ("mirror", f.pod.uid, "done"),
        mirror.PodRefused: lambda f: ("mirror", f.pod.uid),
        mirror.SliceRefused: lambda f: ("mirror", "slice", f.driver, f.pool),
        writers.EpochOpened: lambda f: ("epoch", f.writer),
        writers.StateRecorded: lambda f: ("state", f.writer),
    }
)
