"""Constraints between devices, taints, derived attributes."""

from typing import Any

import pytest
from unit.allocator.search.builders import (
    DRIVER,
    EVERYTHING,
    a_case,
    a_claim,
    a_device,
    a_request,
    a_slice,
    a_wish,
    distinct,
    everything,
    first_available,
    match,
    pick,
    solve,
)

from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.outcome import ClaimError, ErrorKind, Found
from dra_shared.kube.devices import ResourceSlice


def with_values(**values: object) -> ResourceSlice:
    """One device per value of the attribute `a`; None for a device without it."""
    return a_slice(
        *(
            a_device(name, attributes={} if value is None else {"a": value})
            for name, value in values.items()
        )
    )


def pick_some(slices: ResourceSlice, count: int, constraint: dict[str, Any]) -> list[str] | None:
    picked = pick([slices], [a_claim(a_request(count=count), constraints=[constraint])])
    return picked[0] if picked else None


def test_matching_devices_have_the_same_value_and_type() -> None:
    slices = with_values(x="1", y=1, z=True, a="1")
    assert pick_some(slices, 2, match("a")) == ["x", "a"]
    assert pick_some(with_values(x="1", y=1), 2, match("a")) is None


def test_a_device_without_the_attribute_cannot_be_constrained() -> None:
    for constraint in (match("a"), distinct("a")):
        assert pick_some(with_values(x=None, y=1), 1, constraint) == ["y"]


def test_matching_lists_keep_a_common_value_through_all_devices() -> None:
    slices = with_values(a=[1, 2, 3], b=[1, 2], c=[2, 3], d=[3], e=[3])
    assert pick_some(slices, 3, match("a")) == ["a", "b", "c"]
    assert pick_some(with_values(a=[1, 2], b=[2, 3], c=[1, 3]), 3, match("a")) is None


def test_a_search_that_goes_back_gets_the_wider_intersection_back() -> None:
    slices = with_values(a=[1, 2, 3], b=[1, 2], d=[3], e=[3])
    assert pick_some(slices, 3, match("a")) == ["a", "d", "e"]


def test_distinct_devices_differ_from_all_before_them() -> None:
    assert pick_some(with_values(x="u", y="v", z="u", w="t"), 3, distinct("a")) == ["x", "y", "w"]
    assert pick_some(with_values(x="u", y="v", z="u"), 3, distinct("a")) is None
    assert pick_some(with_values(x=[1, 2], y=[2, 3], z=3), 2, distinct("a")) == ["x", "z"]


def test_without_the_gate_lists_match_nothing() -> None:
    features = EVERYTHING - {Feature.LIST_ATTRIBUTES}
    slices = [with_values(x=["u"], y=["u"])]
    for constraint in (match("a"), distinct("a")):
        claim = a_claim(a_request(count=2), constraints=[constraint])
        assert pick(slices, [claim], (), features) is None


def test_a_constraint_concerns_only_the_requests_it_names() -> None:
    slices = [with_values(x="u", y="v", z="u")]
    requests = (a_request("r1"), a_request("r2"), a_request("r3"))
    assert pick(slices, [a_claim(*requests, constraints=[match("a", "r1", "r3")])]) == [
        ["x", "y", "z"]
    ]


def test_a_constraint_may_name_one_alternative_of_a_request() -> None:
    slices = [with_values(x="u", y="v")]
    wish = first_available(a=a_wish(2), b=a_wish(2))
    claim = a_claim(wish, constraints=[match("a", "r/a")])
    outcome = solve(a_case(slices, [claim]))
    assert isinstance(outcome, Found)
    assert [r.request for r in outcome.claims[0].allocation.devices.results or ()] == ["r/b", "r/b"]


def test_all_against_a_constraint_is_an_error() -> None:
    claim = a_claim({"name": "r", "exactly": a_wish(**everything())}, constraints=[match("a")])
    with pytest.raises(ClaimError) as caught:
        solve(a_case([with_values(x=1, y=2)], [claim]))
    assert caught.value.kind is ErrorKind.CONSTRAINT


def test_attributes_of_other_domains_need_their_full_name() -> None:
    full = "resource.kubernetes.io/root"
    slices = [a_slice(a_device("x", attributes={full: "r"}), a_device("y", attributes={full: "r"}))]
    claim = a_claim(a_request(count=2), constraints=[{"matchAttribute": full}])
    assert pick(slices, [claim]) == [["x", "y"]]


def test_derived_attributes_come_before_those_of_the_device() -> None:
    derived = [{"name": f"{DRIVER}/a", "expression": f'device.attributes["{DRIVER}"].a % 2'}]
    claim = a_claim(a_request(count=2, derivedAttributes=derived), constraints=[match("a")])
    assert pick([with_values(x=1, y=2, z=3)], [claim]) == [["x", "z"]]


def test_a_derived_attribute_that_fails_is_an_error() -> None:
    derived = [{"name": f"{DRIVER}/a", "expression": f'device.attributes["{DRIVER}"].nope'}]
    claim = a_claim(a_request(derivedAttributes=derived), constraints=[match("a")])
    with pytest.raises(ClaimError) as caught:
        solve(a_case([with_values(x=1)], [claim]))
    assert caught.value.kind is ErrorKind.DERIVED_ATTRIBUTE


TAINT = {"key": "bad", "value": "very", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "bad", "operator": "Exists"}, True),
        ({"key": "bad", "value": "very"}, True),
        ({"key": "bad", "operator": "Equal", "value": "very", "effect": "NoSchedule"}, True),
        ({"key": "bad", "value": "little"}, False),
        ({"key": "good", "operator": "Exists"}, False),
        ({"key": "bad", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_a_tainted_device_needs_a_toleration_that_fits(
    toleration: dict[str, str], *, tolerated: bool
) -> None:
    slices = [a_slice(a_device(taints=[TAINT]))]
    claim = a_claim(a_request(tolerations=[toleration]))
    outcome = solve(a_case(slices, [claim]))
    assert isinstance(outcome, Found) == tolerated
    if isinstance(outcome, Found):
        (result,) = outcome.claims[0].allocation.devices.results or ()
        assert result.tolerations is not None


@pytest.mark.parametrize("effect", ["None", "Whatever"])
def test_taints_of_other_effects_keep_nobody_away(effect: str) -> None:
    slices = [a_slice(a_device(taints=[{"key": "note", "effect": effect}]))]
    assert pick(slices, [a_claim()]) == [["d0"]]


def test_a_taint_makes_all_fail() -> None:
    slices = [a_slice(a_device("a"), a_device("b", taints=[TAINT]))]
    assert pick(slices, [a_claim({"name": "r", "exactly": a_wish(**everything())})]) is None
