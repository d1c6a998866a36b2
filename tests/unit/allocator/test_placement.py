"""What keeps a pod off a node, devices aside."""

from typing import Any

import pytest
from cluster import a_node

from dra_allocator.core.placement import Taken, why_unfit
from dra_shared.events.cluster import NodeObserved
from dra_shared.events.fact import Placement
from dra_shared.kube.core import Taint, Toleration
from dra_shared.kube.meta import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

GPU = Taint(key="gpu", value="a", effect="NoExecute")
SOFT = Taint(key="gpu", value="a", effect="PreferNoSchedule")


def needs(key: str, operator: str, *values: str) -> Placement:
    test = NodeSelectorRequirement(key=key, operator=operator, values=values)
    term = NodeSelectorTerm(match_expressions=(test,))
    return Placement(required_affinity=NodeSelector(node_selector_terms=(term,)))


def tolerates(**toleration: Any) -> Placement:
    return Placement(tolerations=(Toleration(**toleration),))


@pytest.mark.parametrize(
    ("placement", "node", "why"),
    [
        (Placement(), a_node("n"), None),
        (Placement(node_selector={"zone": "a"}), a_node("n", labels={"zone": "a"}), None),
        (Placement(node_selector={"zone": "a"}), a_node("n"), "node affinity"),
        (needs("zone", "In", "a", "b"), a_node("n", labels={"zone": "b"}), None),
        (needs("zone", "NotIn", "b"), a_node("n", labels={"zone": "b"}), "node affinity"),
        (needs("cores", "Gt", "8"), a_node("n", labels={"cores": "16"}), None),
        (needs("cores", "Gt", "8"), a_node("n", labels={"cores": "8"}), "node affinity"),
        (Placement(), a_node("n", taints=(GPU,)), "node taint gpu"),
        (Placement(), a_node("n", taints=(SOFT,)), None),
        (tolerates(key="gpu", value="a"), a_node("n", taints=(GPU,)), None),
        (tolerates(key="gpu", value="b"), a_node("n", taints=(GPU,)), "node taint gpu"),
        (tolerates(key="gpu", operator="Exists"), a_node("n", taints=(GPU,)), None),
        (tolerates(operator="Exists"), a_node("n", taints=(GPU,)), None),
        (tolerates(operator="Exists", effect="NoSchedule"), a_node("n", taints=(GPU,)), "node taint gpu"),
        (Placement(), a_node("n", unschedulable=True), "unschedulable"),
        (
            tolerates(key="node.kubernetes.io/unschedulable", operator="Exists"),
            a_node("n", unschedulable=True),
            None,
        ),
        (Placement(cpu_milli=9), a_node("n", cpu_milli=8), "not enough cpu"),
        (Placement(memory_bytes=9), a_node("n", memory_bytes=8), "not enough memory"),
        (Placement(), a_node("n", pods=0), "too many pods"),
        (Placement(), a_node("n", cpu_milli=-5), None),
    ],
)  # fmt: skip
def test_a_node_fits_as_kubernetes_would_say(
    placement: Placement, node: NodeObserved, why: str | None
) -> None:
    assert why_unfit(placement, node) == why


def test_what_our_pods_take_is_not_left_for_others() -> None:
    taken = Taken(cpu_milli=5, memory_bytes=0, pods=1)
    assert why_unfit(Placement(cpu_milli=4), a_node("n", cpu_milli=8), taken) == "not enough cpu"
    assert why_unfit(Placement(cpu_milli=3), a_node("n", cpu_milli=8), taken) is None
    assert why_unfit(Placement(), a_node("n", pods=1), taken) == "too many pods"


def test_nothing_fits_a_lost_node() -> None:
    assert why_unfit(Placement(), a_node("n"), lost=True) == "node lost"
