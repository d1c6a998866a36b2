"""Whether a pod could run on a node at all, devices aside. Says what is in the way, in words.

As kube-scheduler's filters NodeUnschedulable, NodeAffinity, TaintToleration and NodeResourcesFit
decide it. Preferences are not read.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from dra_allocator.core.search.nodes import NodeView, selector_picks
from dra_shared.events.cluster import NodeObserved
from dra_shared.events.fact import Placement
from dra_shared.kube.core import Taint, Toleration

BLOCKING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
UNSCHEDULABLE: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""What a cordoned node is read as, so that a toleration lifts it as it does upstream."""


class Taken(msgspec.Struct):
    """What our own placed pods take of a node."""

    cpu_milli: int = 0
    memory_bytes: int = 0
    pods: int = 0

    def add(self, placement: Placement, sign: int) -> None:
        """Counts one pod in (+1) or out (-1)."""
        self.cpu_milli += sign * placement.cpu_milli
        self.memory_bytes += sign * placement.memory_bytes
        self.pods += sign


NOTHING_TAKEN: Final = Taken()


def why_unfit(
    placement: Placement, node: NodeObserved, taken: Taken = NOTHING_TAKEN, *, lost: bool = False
) -> str | None:
    """What keeps such a pod off the node, or None if nothing does."""
    if lost:
        return "node lost"
    if node.taints or node.unschedulable:
        taint = _untolerated(node, placement.tolerations)
        if taint is not None:
            return _name(taint)
    if not _is_wanted(placement, node):
        return "node affinity"
    return _lacking(placement, node, taken)


def _name(taint: Taint) -> str:
    if taint is UNSCHEDULABLE:
        return "unschedulable"
    return f"node taint {taint.key}"


def _is_wanted(placement: Placement, node: NodeObserved) -> bool:
    if placement.node_selector:
        for key, value in placement.node_selector.items():
            if node.labels.get(key) != value:
                return False
    affinity = placement.required_affinity
    return affinity is None or selector_picks(
        affinity, NodeView(name=node.name, labels=node.labels)
    )


def _lacking(placement: Placement, node: NodeObserved, taken: Taken) -> str | None:
    if taken.pods >= node.pods:
        return "too many pods"
    if placement.cpu_milli and taken.cpu_milli + placement.cpu_milli > node.cpu_milli:
        return "not enough cpu"
    if placement.memory_bytes and taken.memory_bytes + placement.memory_bytes > node.memory_bytes:
        return "not enough memory"
    return None


def _untolerated(node: NodeObserved, tolerations: Iterable[Toleration]) -> Taint | None:
    taints = (UNSCHEDULABLE, *node.taints) if node.unschedulable else node.taints
    for taint in taints:
        if taint.effect in BLOCKING_EFFECTS and not any(_tolerates(t, taint) for t in tolerations):
            return taint
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """As core/v1 Toleration.ToleratesTaint; an empty key only matches all with Exists."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value
