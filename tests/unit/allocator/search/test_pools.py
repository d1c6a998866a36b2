"""Which slices count for a node, which pools are whole and sound, what a node can reach."""

from typing import Any

import pytest
from unit.allocator.search.builders import (
    DRIVER,
    EVERYTHING,
    NODE,
    a_case,
    a_claim,
    a_device,
    a_request,
    a_slice,
    consumes,
    counter_slice,
    devices,
    pick,
    solve,
)

from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.nodes import NodeView, one_node, selector_picks
from dra_allocator.core.search.outcome import NotFound
from dra_allocator.core.search.pools import (
    PoolFault,
    PoolId,
    group_slices,
    pools_for_node,
    seen_from,
)
from dra_shared.kube.devices import ResourceSlice
from dra_shared.kube.meta import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

ZONE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}


def names(*slices: ResourceSlice) -> list[str]:
    """The devices that node n1 can be given one by one."""
    found = [pool for pool in pools_for_node(slices, NODE, EVERYTHING) if pool.fault is None]
    return [
        device.id.device
        for pool in found
        for place, device in enumerate(pool.devices)
        if pool.here >> place & 1
    ]


def faults(*slices: ResourceSlice) -> list[PoolFault | None]:
    return [pool.fault for pool in pools_for_node(slices, NODE, EVERYTHING)]


@pytest.mark.parametrize(
    ("where", "seen"),
    [
        ({"nodeName": "n1"}, True),
        ({"nodeName": "n2"}, False),
        ({"allNodes": True}, True),
        ({"nodeSelector": ZONE}, True),
        ({"nodeSelector": {"nodeSelectorTerms": []}}, False),
    ],
)
def test_a_slice_counts_for_the_nodes_it_names(where: dict[str, Any], *, seen: bool) -> None:
    assert names(a_slice(*devices("d0"), **where)) == (["d0"] if seen else [])


def test_a_slice_bound_to_nodes_in_an_unknown_way_is_passed_over() -> None:
    assert names(a_slice(*devices("d0"), nodeName=None)) == []


def test_devices_may_name_their_nodes_one_by_one() -> None:
    slices = a_slice(
        a_device("here", nodeName="n1"),
        a_device("there", nodeName="n2"),
        a_device("everywhere", allNodes=True),
        perDeviceNodeSelection=True,
    )
    assert names(slices) == ["here", "everywhere"]
    assert pick([slices], [a_claim(a_request(count=3))]) is None


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    old, new = a_slice(*devices("old")), a_slice(*devices("new"), generation=2)
    assert names(old, new) == ["new"]


def test_a_newer_generation_for_other_nodes_withdraws_an_unfinished_pool() -> None:
    old = a_slice(*devices("old"), pool="rack", count=2)
    new = a_slice(*devices("new"), pool="rack", count=2, generation=2, nodeName="n2")
    assert pools_for_node([old, new], NODE, EVERYTHING) == ()


def test_slices_for_other_nodes_make_a_pool_whole() -> None:
    here = a_slice(*devices("here"), name="a", pool="rack", count=2)
    there = a_slice(*devices("there"), name="b", pool="rack", count=2, nodeName="n2")
    assert names(here, there) == ["here"]
    assert faults(here) == [PoolFault.INCOMPLETE]


def test_nothing_is_taken_from_an_unfinished_pool() -> None:
    assert pick([a_slice(*devices("d0"), count=2)], [a_claim()]) is None


@pytest.mark.parametrize(
    "slices",
    [
        (a_slice(*devices("d0", "d0")),),
        (
            a_slice(a_device("d0", consumesCounters=consumes(mem="1")), count=2),
            counter_slice(cores="1"),
        ),
        (
            a_slice(name="x", count=2, sharedCounters=[{"name": "k", "counters": {}}]),
            a_slice(name="y", count=2, sharedCounters=[{"name": "k", "counters": {}}]),
        ),
        (a_slice(a_device("d0", capacity={"memory": "lots"})),),
    ],
)
def test_a_pool_that_contradicts_itself_is_invalid_and_named_so(
    slices: tuple[ResourceSlice, ...],
) -> None:
    (pool,) = pools_for_node(slices, NODE, EVERYTHING)
    assert pool.fault is PoolFault.INVALID
    assert pool.fault_detail
    outcome = solve(a_case(slices, [a_claim()]))
    assert isinstance(outcome, NotFound)
    assert outcome.invalid_pools


def test_an_invalid_pool_does_not_keep_others_from_being_used() -> None:
    slices = [a_slice(*devices("d0", "d0"), pool="a"), a_slice(*devices("d1"), pool="b")]
    assert pick(slices, [a_claim()]) == [["d1"]]


def test_a_fault_in_a_slice_for_another_node_makes_the_pool_invalid_here() -> None:
    broken = a_device("there", consumesCounters=consumes(gone="1"))
    slices = [
        a_slice(*devices("here"), name="a", pool="rack", count=3),
        a_slice(broken, name="b", pool="rack", count=3, nodeName="n2"),
        counter_slice("rack", count=3, mem="1"),
    ]
    assert faults(*slices) == [PoolFault.INVALID]


def test_slices_of_one_object_name_are_all_kept() -> None:
    slices = [
        a_slice(*devices("d0"), name="same", pool="rack", count=2),
        a_slice(*devices("d1"), name="same", pool="rack", count=2),
    ]
    assert names(*slices) == ["d0", "d1"]


def test_counters_and_devices_by_node_are_left_alone_while_they_are_off() -> None:
    without = EVERYTHING - {Feature.PARTITIONABLE_DEVICES}
    by_device = a_slice(a_device("d0", allNodes=True), perDeviceNodeSelection=True)
    assert pick([by_device], [a_claim()], (), without) is None
    partition = a_slice(a_device("d0", consumesCounters=consumes(mem="1")))
    assert pick([partition], [a_claim()], (), without) is None


def test_binding_conditions_are_left_alone_while_they_are_off() -> None:
    without = EVERYTHING - {Feature.BINDING_CONDITIONS}
    slices = [a_slice(a_device("d0", bindingConditions=["ready"]))]
    assert pick(slices, [a_claim()], (), without) is None


def test_a_kubelet_must_be_able_to_skip_what_a_slice_says() -> None:
    slices = [a_slice(*devices("d0"), skipNodeOperations=["*"])]
    able = NodeView(name="n1", declared_features=frozenset({"DRAOptionalNodeOperations"}))
    assert pick(slices, [a_claim()]) is None
    assert pick(slices, [a_claim()], node=able) == [["d0"]]
    without = EVERYTHING - {Feature.OPTIONAL_NODE_OPERATIONS}
    assert pick(slices, [a_claim()], (), without, node=able) is None


def test_a_pool_of_named_nodes_says_which() -> None:
    groups = group_slices([a_slice(*devices("d0"))], EVERYTHING)
    group = groups[PoolId(DRIVER, "n1")]
    assert group.node_names == frozenset({"n1"})
    assert seen_from(group, NodeView(name="n2")) is None


@pytest.mark.parametrize(
    ("operator", "values", "picked"),
    [
        ("In", ("z1", "z2"), True),
        ("In", ("z2",), False),
        ("NotIn", ("z2",), True),
        ("NotIn", ("z1",), False),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
        ("Gt", ("1",), False),
        ("Mystery", ("z1",), False),
    ],
)
def test_a_node_selector_tests_labels(
    operator: str, values: tuple[str, ...], *, picked: bool
) -> None:
    test = NodeSelectorRequirement(key="zone", operator=operator, values=values)
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(test,)),))
    assert selector_picks(selector, NODE) == picked


@pytest.mark.parametrize(("operator", "picked"), [("Gt", True), ("Lt", False)])
def test_numbers_in_labels_compare_as_numbers(operator: str, *, picked: bool) -> None:
    test = NodeSelectorRequirement(key="cores", operator=operator, values=("9",))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(test,)),))
    assert selector_picks(selector, NodeView(name="n", labels={"cores": "10"})) == picked


def test_a_term_without_tests_picks_no_node() -> None:
    assert not selector_picks(NodeSelector(node_selector_terms=(NodeSelectorTerm(),)), NODE)


def test_the_selector_of_one_node_picks_that_node_alone() -> None:
    assert selector_picks(one_node("n1"), NODE)
    assert not selector_picks(one_node("n2"), NODE)
