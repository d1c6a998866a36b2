"""The answer in the API's words: copied fields, configuration, node selector, frozen costs."""

from typing import Any

import msgspec
import pytest
from unit.allocator.search.builders import (
    a_case,
    a_claim,
    a_class,
    a_cost,
    a_device,
    a_request,
    a_slice,
    a_wish,
    consumes,
    counter_slice,
    devices,
    first_available,
    solve,
)

from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.outcome import ClaimError, ErrorKind, Found, FoundClaim
from dra_shared.kube.devices import ResourceSlice

CLASS_CONFIG = {"opaque": {"driver": "d", "parameters": {"from": "class"}}}
CLAIM_CONFIG = {"opaque": {"driver": "d", "parameters": {"from": "claim"}}}


def found(case: Any) -> FoundClaim:
    outcome = solve(case)
    assert isinstance(outcome, Found), outcome
    return outcome.claims[0]


def configs(*requests: dict[str, Any], **fields: Any) -> list[tuple[str, object]]:
    """Source and requests of each configuration of a claim for plain devices."""
    slices = [a_slice(*devices(*(f"d{n}" for n in range(8))))]
    classes = [a_class("tuned", config=[CLASS_CONFIG])]
    case = a_case(slices, [a_claim(*requests, **fields)], classes=classes)
    config = found(case).allocation.devices.config or ()
    return [(one.source, one.requests) for one in config]


def selector(*slices: ResourceSlice, count: int = 1) -> Any:
    case = a_case(slices, [a_claim(a_request(count=count))])
    return msgspec.json.decode(msgspec.json.encode(found(case).allocation.node_selector))


def test_class_configs_come_first_and_name_all_requests_of_their_class() -> None:
    requests = [
        a_request(n, deviceClassName=c) for n, c in (("a", "tuned"), ("b", "any"), ("c", "tuned"))
    ]
    assert configs(*requests, config=[{**CLAIM_CONFIG, "requests": ["b"]}]) == [
        ("FromClass", ("a", "c")),
        ("FromClaim", ("b",)),
    ]


def test_a_config_for_every_request_names_none() -> None:
    tuned = a_request("a", deviceClassName="tuned")
    assert configs(tuned) == [("FromClass", None)]
    assert configs(
        a_request("a"), a_request("b"), config=[{**CLAIM_CONFIG, "requests": ["a", "b"]}]
    ) == [("FromClaim", None)]
    assert configs(a_request(), config=[CLAIM_CONFIG]) == [("FromClaim", None)]


def test_a_config_is_kept_only_for_the_alternative_that_was_chosen() -> None:
    wish = first_available(many=a_wish(9), one=a_wish())
    for name, kept in (("r/many", False), ("r/one", True), ("r", True)):
        config = [{**CLAIM_CONFIG, "requests": [name, "x"]}]
        assert bool(configs(wish, a_request("x2"), config=config)) == kept


def test_a_device_of_one_node_pins_the_claim_in_the_one_exact_shape() -> None:
    pinned = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    everywhere = a_slice(a_device("net", bindsToNode=True), allNodes=True)
    for slices in (a_slice(*devices("d0")), everywhere):
        assert selector(slices) == {"nodeSelectorTerms": [pinned]}


def test_a_device_of_all_nodes_pins_the_claim_nowhere() -> None:
    assert selector(a_slice(*devices("d0"), allNodes=True)) is None


def zone(*values: str) -> dict[str, Any]:
    test = {"key": "zone", "operator": "In", "values": list(values)}
    return {"nodeSelectorTerms": [{"matchExpressions": [test]}]}


def test_selectors_of_several_devices_are_merged_without_repetition() -> None:
    slices = (
        a_slice(*devices("a"), pool="a", nodeSelector=zone("z1", "z2")),
        a_slice(*devices("b"), pool="b", nodeSelector=zone("z2", "z1")),
        a_slice(*devices("c"), pool="c", nodeSelector=zone("z1")),
    )
    (term,) = selector(*slices, count=3)["nodeSelectorTerms"]
    assert [test["values"] for test in term["matchExpressions"]] == [["z1", "z2"], ["z1"]]


def test_a_device_whose_selector_has_two_terms_is_an_error() -> None:
    terms = {"nodeSelectorTerms": zone("z1")["nodeSelectorTerms"] * 2}
    slices = a_slice(a_device("d0", nodeSelector=terms), perDeviceNodeSelection=True)
    with pytest.raises(ClaimError) as caught:
        selector(slices)
    assert caught.value.kind is ErrorKind.NODE_SELECTOR


def test_binding_conditions_and_tolerations_are_copied() -> None:
    device = a_device(bindingConditions=["ready"], bindingFailureConditions=["broken"])
    claim = a_claim(a_request(tolerations=[{"operator": "Exists"}]))
    (result,) = found(a_case([a_slice(device)], [claim])).allocation.devices.results or ()
    assert result.binding_conditions == ("ready",)
    assert result.binding_failure_conditions == ("broken",)
    assert [one.operator for one in result.tolerations or ()] == ["Exists"]


def test_skipped_operations_are_copied() -> None:
    slices = [a_slice(*devices("d0"), skipNodeOperations=["*"])]
    able = NodeView(name="n1", declared_features=frozenset({"DRAOptionalNodeOperations"}))
    (result,) = found(a_case(slices, [a_claim()], node=able)).allocation.devices.results or ()
    assert result.skip_node_operations == ("*",)


def test_an_allocation_has_no_timestamp_yet() -> None:
    assert (
        found(a_case([a_slice(*devices("d0"))], [a_claim()])).allocation.allocation_timestamp
        is None
    )


def test_costs_hold_all_that_a_result_takes() -> None:
    shared = a_device(
        "s0",
        allowMultipleAllocations=True,
        capacity={"memory": "8Gi"},
        consumesCounters=[
            {"counterSet": "k", "counters": {"mem": {"value": "2"}}, "compatibilityGroups": ["g"]}
        ],
    )
    slices = [a_slice(shared, count=2), counter_slice(mem="4")]
    claim = a_claim(a_request(capacity={"requests": {"memory": "3Gi"}}))
    (cost,) = found(a_case(slices, [claim])).costs
    assert cost == a_cost(
        "s0",
        share_id="share-0",
        capacity={"memory": "3Gi"},
        counters={"k": {"mem": "2"}},
        compatibility_groups={"k": ("g",)},
    )


def test_costs_given_back_to_the_search_stand_for_the_allocation() -> None:
    slices = [
        a_slice(a_device("p0", consumesCounters=consumes(mem="3")), count=2),
        counter_slice(mem="4"),
    ]
    first = found(a_case(slices, [a_claim()]))
    in_use = InUse(first.costs)
    assert list(in_use.costs()) == list(first.costs)
    assert not isinstance(solve(a_case(slices, [a_claim()], first.costs)), Found)


def test_shares_are_numbered_through_all_claims() -> None:
    slices = [a_slice(a_device("s0", allowMultipleAllocations=True))]
    outcome = solve(a_case(slices, [a_claim(a_request("a"), a_request("b")), a_claim(name="c2")]))
    assert isinstance(outcome, Found)
    ids = [cost.share_id for one in outcome.claims for cost in one.costs]
    assert ids == ["share-0", "share-1", "share-2"]
