"""Reasons of a refusal: one per device, the closest one, and they sum to all devices."""

from typing import Any

import pytest
from unit.allocator.search.builders import (
    DRIVER,
    a_case,
    a_claim,
    a_cost,
    a_device,
    a_problem,
    a_request,
    a_slice,
    a_wish,
    consumes,
    counter_slice,
    devices,
    match,
)
from unit.allocator.search.checker import Case

from dra_allocator.core.search.why import explain
from dra_shared.events.allocations import ReasonKind
from dra_shared.kube.claims import ResourceClaim
from dra_shared.kube.devices import ResourceSlice

BIG = f'device.attributes["{DRIVER}"].size == "big"'


def reasons(case: Case) -> list[tuple[ReasonKind, str, int]]:
    explanation = explain(a_problem(case))
    assert explanation.devices == sum(one.devices for one in explanation.reasons)
    return [(one.kind, one.detail, one.devices) for one in explanation.reasons]


def one_reason(
    slices: list[ResourceSlice], claim: ResourceClaim | None = None, *held: Any
) -> tuple[ReasonKind, str]:
    ((kind, detail, _),) = reasons(a_case(slices, [claim or a_claim()], held))
    return kind, detail


def test_devices_in_use_are_counted_together() -> None:
    slices = [a_slice(*devices("d0", "d1"))]
    case = a_case(slices, [a_claim()], [a_cost("d0"), a_cost("d1")])
    assert reasons(case) == [(ReasonKind.IN_USE, "", 2)]


def test_a_taint_is_named() -> None:
    tainted = a_device(taints=[{"key": "bad", "effect": "NoSchedule"}])
    assert one_reason([a_slice(tainted)]) == (ReasonKind.TAINTED, "bad:NoSchedule")


def test_a_selector_that_is_false_is_quoted() -> None:
    slices = [a_slice(a_device(attributes={"size": "small"}))]
    assert one_reason(slices, a_claim(a_request("r", 1, BIG))) == (ReasonKind.SELECTOR_FALSE, BIG)


def test_a_selector_error_names_the_missing_key() -> None:
    kind, detail = one_reason([a_slice(*devices("d0"))], a_claim(a_request("r", 1, BIG)))
    assert kind is ReasonKind.SELECTOR_ERROR
    assert "size" in detail


def test_a_lack_of_capacity_names_the_capacity() -> None:
    shared = a_device("s0", allowMultipleAllocations=True, capacity={"memory": "8"})
    held = a_cost("s0", share_id="x", capacity={"memory": "8"})
    kind, detail = one_reason([a_slice(shared)], None, held)
    assert kind is ReasonKind.CAPACITY
    assert "memory" in detail


def test_a_lack_of_counters_names_counter_and_holder() -> None:
    slices = [
        a_slice(
            a_device("s0", allowMultipleAllocations=True, consumesCounters=consumes(mem="1")),
            a_device("x0", consumesCounters=consumes(mem="1"), attributes={"size": "big"}),
            count=2,
        ),
        counter_slice(mem="1"),
    ]
    held = a_cost("s0", share_id="x", counters={"k": {"mem": "1"}})
    case = a_case(slices, [a_claim(a_request("r", 1, BIG))], [held])
    assert (ReasonKind.COUNTERS, "k/mem used by s0", 1) in reasons(case)


def test_free_devices_that_are_too_few_say_so() -> None:
    case = a_case([a_slice(*devices("d0", "d1"))], [a_claim(a_request(count=3))])
    assert reasons(case) == [(ReasonKind.NOT_ENOUGH, "", 2)]


def test_enough_free_devices_that_do_not_go_together_name_the_constraint() -> None:
    slices = [a_slice(a_device("a", attributes={"numa": 0}), a_device("b", attributes={"numa": 1}))]
    claim = a_claim(a_request(count=2), constraints=[match("numa")])
    assert one_reason(slices, claim) == (ReasonKind.CONSTRAINT, f"{DRIVER}/numa")
    more = a_claim(a_request(count=3), constraints=[match("numa")])
    assert one_reason(slices, more) == (ReasonKind.NOT_ENOUGH, "")


def test_a_device_without_a_constrained_attribute_says_so() -> None:
    claim = a_claim(constraints=[match("numa")])
    assert one_reason([a_slice(*devices("d0"))], claim) == (
        ReasonKind.CONSTRAINT,
        f"has no {DRIVER}/numa",
    )


@pytest.mark.parametrize(
    ("slices", "kind"),
    [
        ([a_slice(*devices("d0"), count=2)], ReasonKind.POOL_INCOMPLETE),
        ([a_slice(*devices("d0", "d0"))], ReasonKind.POOL_INVALID),
    ],
)
def test_the_devices_of_a_pool_that_cannot_be_used_are_counted_too(
    slices: list[ResourceSlice], kind: ReasonKind
) -> None:
    found, detail = one_reason(slices)
    assert found is kind
    assert "n1" in detail


def test_a_device_shows_the_reason_of_the_request_it_came_closest_to() -> None:
    slices = [a_slice(a_device(attributes={"size": "small"}))]
    claim = a_claim(a_request("r1", 1, BIG), {"name": "r2", "exactly": a_wish()})
    assert one_reason(slices, claim, a_cost())[0] is ReasonKind.IN_USE
