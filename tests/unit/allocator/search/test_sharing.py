"""Shares of devices, capacities, counters, compatibility groups, admin access."""

from typing import Any

import pytest
from unit.allocator.search.builders import (
    DRIVER,
    EVERYTHING,
    a_case,
    a_claim,
    a_cost,
    a_device,
    a_request,
    a_slice,
    a_wish,
    consumes,
    counter_slice,
    devices,
    everything,
    pick,
    solve,
)

from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.outcome import ClaimError, ErrorKind, Found
from dra_shared.kube.claims import ResourceClaim
from dra_shared.kube.devices import ResourceSlice

SHARED = {"allowMultipleAllocations": True}
POLICY = {
    "value": "80Gi",
    "requestPolicy": {
        "default": "4Gi",
        "validRange": {"min": "2Gi", "max": "40Gi", "step": "2Gi"},
    },
}
SHARED_SLICE = a_slice(a_device("s0", capacity={"memory": POLICY}, **SHARED))


def wants(amount: str | None, name: str = "c1") -> ResourceClaim:
    fields: dict[str, Any] = (
        {} if amount is None else {"capacity": {"requests": {"memory": amount}}}
    )
    return a_claim(a_request(**fields), name=name)


def consumed(slices: list[ResourceSlice], claim: ResourceClaim, *held: str) -> str | None:
    """What the claim consumes beside shares of these sizes; None if it is refused."""
    shares = [a_cost("s0", share_id=f"s{n}", capacity={"memory": m}) for n, m in enumerate(held)]
    outcome = solve(a_case(slices, [claim], shares))
    if not isinstance(outcome, Found):
        return None
    (result,) = outcome.claims[0].allocation.devices.results or ()
    assert result.share_id
    return (result.consumed_capacity or {})["memory"]


@pytest.mark.parametrize(
    ("amount", "taken"),
    [
        ("3Gi", "4Gi"),
        (None, "4Gi"),
        ("41Gi", None),
        ("40Gi", "40Gi"),
        ("1500Mi", "2Gi"),
        ("0", "2Gi"),
        ("39Gi", "40Gi"),
    ],
)
def test_a_share_takes_what_the_policy_makes_of_the_request(
    amount: str | None, taken: str | None
) -> None:
    assert consumed([SHARED_SLICE], wants(amount)) == taken


def test_shares_together_never_take_more_than_there_is() -> None:
    held = ("4Gi", "4Gi", "40Gi")
    assert consumed([SHARED_SLICE], wants("34Gi"), *held) is None
    assert consumed([SHARED_SLICE], wants("32Gi"), *held) == "32Gi"


def test_a_capacity_that_is_not_mentioned_and_has_no_default_is_taken_whole() -> None:
    slices = [a_slice(a_device("s0", capacity={"memory": "8Gi"}, **SHARED))]
    assert consumed(slices, wants(None)) == "8Gi"
    assert consumed(slices, wants(None), "1") is None


def test_requests_round_up_to_a_listed_value() -> None:
    policy = {"value": "8", "requestPolicy": {"default": "1", "validValues": ["1", "2", "4"]}}
    slices = [a_slice(a_device("s0", capacity={"memory": policy}, **SHARED))]
    assert consumed(slices, wants("3")) == "4"
    assert consumed(slices, wants("5")) is None


def test_fractions_are_kept_only_with_their_gate() -> None:
    policy = {
        "value": "1",
        "requestPolicy": {"default": "200m", "validRange": {"min": "200m", "step": "100m"}},
    }
    slices = [a_slice(a_device("s0", capacity={"memory": policy}, **SHARED))]
    assert consumed(slices, wants("250m")) == "300m"
    without = EVERYTHING - {Feature.FRACTIONAL_CAPACITY}
    outcome = solve(a_case(slices, [wants("250m")], (), without))
    assert isinstance(outcome, Found)
    (result,) = outcome.claims[0].allocation.devices.results or ()
    assert result.consumed_capacity == {"memory": "1"}


@pytest.mark.parametrize("amount", ["9300P", "100u", "-1"])
def test_a_request_that_cannot_be_counted_is_an_error(amount: str) -> None:
    policy = {
        "value": "80",
        "requestPolicy": {"default": "1", "validRange": {"min": "0", "step": "1"}},
    }
    free = a_slice(a_device("s0", capacity={"memory": policy if amount != "-1" else "8"}, **SHARED))
    with pytest.raises(ClaimError) as caught:
        solve(a_case([free], [wants(amount)]))
    assert caught.value.kind is ErrorKind.CAPACITY


def test_a_device_without_the_capacity_asked_for_is_passed_over() -> None:
    slices = [a_slice(a_device("a"), a_device("b", capacity={"memory": "1"}))]
    assert pick(slices, [wants("1")]) == [["b"]]


def test_a_device_that_is_too_small_is_passed_over_whether_shareable_or_not() -> None:
    for sharing in (SHARED, {}):
        slices = [a_slice(a_device("a", capacity={"memory": "1"}, **sharing))]
        assert pick(slices, [wants("2")]) is None


def test_a_device_that_is_not_shareable_is_only_compared() -> None:
    slices = [a_slice(a_device("a", capacity={"memory": "8Gi"}))]
    outcome = solve(a_case(slices, [wants("4Gi")]))
    assert isinstance(outcome, Found)
    (result,) = outcome.claims[0].allocation.devices.results or ()
    assert (result.share_id, result.consumed_capacity) == (None, None)
    assert outcome.claims[0].costs == (a_cost("a"),)


def test_one_request_never_gets_one_device_twice_but_two_requests_may_share_it() -> None:
    shared = a_slice(a_device("s0", **SHARED))
    assert pick([shared], [a_claim(a_request(count=2))]) is None
    assert pick([shared], [a_claim(a_request("r1"), a_request("r2"))]) == [["s0", "s0"]]


def test_a_live_share_keeps_exclusive_use_away_after_sharing_was_turned_off() -> None:
    exclusive = [a_slice(a_device("s0", capacity={"memory": "8Gi"}))]
    for share in (a_cost("s0", share_id="x"), a_cost("s0", share_id="x", capacity={"memory": "1"})):
        assert pick(exclusive, [a_claim()], [share]) is None
        assert (
            pick(exclusive, [a_claim({"name": "r", "exactly": a_wish(**everything())})], [share])
            is None
        )


def test_a_device_held_whole_is_not_shared_after_sharing_was_turned_on() -> None:
    assert pick([a_slice(a_device("s0", **SHARED))], [a_claim()], [a_cost("s0")]) is None


def test_partitions_take_from_their_counters_until_these_are_used_up() -> None:
    slices = [
        a_slice(*devices("p0", "p1", consumesCounters=consumes(mem="30")), count=2),
        counter_slice(mem="40"),
    ]
    assert pick(slices, [a_claim()]) == [["p0"]]
    assert pick(slices, [a_claim(a_request(count=2))]) is None
    assert pick(slices, [a_claim()], [a_cost("p0", counters={"k": {"mem": "30"}})]) is None


def test_counters_are_those_frozen_in_the_allocation_not_todays() -> None:
    slices = [
        a_slice(a_device("p0"), a_device("p1", consumesCounters=consumes(mem="30")), count=2),
        counter_slice(mem="40"),
    ]
    assert pick(slices, [a_claim()], [a_cost("p0", counters={"k": {"mem": "30"}})]) is None


def test_pools_of_one_name_and_different_drivers_do_not_share_counters() -> None:
    other = {"driver": "other.example"}
    slices = [
        a_slice(a_device("a0", consumesCounters=consumes(mem="40")), count=2),
        counter_slice(mem="40"),
        a_slice(a_device("b0", consumesCounters=consumes(mem="10")), count=2, **other),
        a_slice(
            name="other-counters",
            count=2,
            sharedCounters=[{"name": "k", "counters": {"mem": {"value": "10"}}}],
            **other,
        ),
    ]
    assert pick(slices, [a_claim(a_request(count=2))]) == [["a0", "b0"]]


def test_a_candidate_that_is_rejected_gives_its_counters_back() -> None:
    tainted = {"taints": [{"key": "bad", "effect": "NoSchedule"}]}
    slices = [
        a_slice(
            a_device("q0", consumesCounters=consumes(mem="40"), **tainted),
            a_device("q1", consumesCounters=consumes(mem="40")),
            count=2,
        ),
        counter_slice(mem="40"),
    ]
    assert pick(slices, [a_claim()]) == [["q1"]]


NEEDS_P1 = f'device.attributes["{DRIVER}"].?kind.orValue("") == "p1"'


def test_a_search_that_goes_back_gives_counters_back() -> None:
    slices = [
        a_slice(
            a_device("p0", consumesCounters=consumes(mem="40")),
            a_device("free"),
            a_device("p1", consumesCounters=consumes(mem="30"), attributes={"kind": "p1"}),
            count=2,
        ),
        counter_slice(mem="40"),
    ]
    claim = a_claim(a_request("r1"), a_request("r2", 1, NEEDS_P1))
    assert pick(slices, [claim]) == [["free", "p1"]]


def test_an_overdrawn_counter_blocks_its_whole_pool_and_a_full_one_does_not() -> None:
    slices = [
        a_slice(
            a_device("p0", consumesCounters=consumes(mem="40")),
            a_device("p1", consumesCounters=consumes(cores="1")),
            count=2,
        ),
        counter_slice(mem="40", cores="4"),
    ]
    full, over = ({"k": {"mem": amount}} for amount in ("40", "41"))
    assert pick(slices, [a_claim()], [a_cost("gone", counters=full)]) == [["p1"]]
    assert pick(slices, [a_claim()], [a_cost("gone", counters=over)]) is None


def test_a_shared_device_pays_its_counters_once_and_keeps_siblings_out() -> None:
    slices = [
        a_slice(
            a_device("s0", consumesCounters=consumes(mem="1"), **SHARED),
            a_device("x0", consumesCounters=consumes(mem="1")),
            count=2,
        ),
        counter_slice(mem="1"),
    ]
    share = a_cost("s0", share_id="a", counters={"k": {"mem": "1"}})
    assert pick(slices, [a_claim()], [share]) == [["s0"]]
    assert pick(slices, [a_claim(a_request(count=2))], [share]) is None
    two = a_claim(a_request("r1"), a_request("r2"))
    assert pick(slices, [two]) == [["s0", "s0"]]


def grouped(name: str, *groups: str) -> dict[str, object]:
    counters = {"mem": {"value": "1"}}
    one = {"counterSet": "k", "counters": counters, "compatibilityGroups": list(groups)}
    return a_device(name, consumesCounters=[one])


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        (("mig",), ("mig", "vgpu"), True),
        (("mig",), ("vgpu",), False),
        (("mig",), (), False),
        ((), (), True),
    ],
)
def test_devices_on_one_counter_set_must_share_a_compatibility_group(
    first: tuple[str, ...], second: tuple[str, ...], *, together: bool
) -> None:
    slices = [a_slice(grouped("a", *first), grouped("b", *second), count=2), counter_slice(mem="9")]
    assert (pick(slices, [a_claim(a_request(count=2))]) is not None) == together
    held = a_cost(
        "a", counters={"k": {"mem": "1"}}, compatibility_groups={"k": first} if first else {}
    )
    assert (pick(slices, [a_claim()], [held]) is not None) == together


def test_a_search_that_goes_back_forgets_the_groups_of_what_it_gives_back() -> None:
    last = grouped("p1", "vgpu") | {"attributes": {"kind": {"string": "p1"}}}
    slices = [
        a_slice(grouped("a", "mig"), grouped("b", "vgpu"), last, count=2),
        counter_slice(mem="9"),
    ]
    claim = a_claim(a_request("r1"), a_request("r2", 1, NEEDS_P1))
    assert pick(slices, [claim]) == [["b", "p1"]]


def test_a_pool_with_compatibility_groups_is_left_alone_while_they_are_off() -> None:
    slices = [a_slice(grouped("a", "mig"), grouped("b"), count=2), counter_slice(mem="9")]
    without = EVERYTHING - {Feature.COMPATIBILITY_GROUPS}
    assert pick(slices, [a_claim()], (), without) is None


ADMIN = a_claim(a_request(adminAccess=True), name="admin")


def test_admin_access_takes_nothing_and_is_never_short_of_anything() -> None:
    shared = {**SHARED, "capacity": {"memory": "1"}, "consumesCounters": consumes(mem="1")}
    slices = [a_slice(a_device("x0", **shared), count=2), counter_slice(mem="1")]
    full = a_cost("x0", share_id="a", capacity={"memory": "1"}, counters={"k": {"mem": "1"}})
    outcome = solve(a_case(slices, [ADMIN], [full]))
    assert isinstance(outcome, Found)
    (result,) = outcome.claims[0].allocation.devices.results or ()
    assert (result.device, result.admin_access, result.consumed_capacity) == ("x0", True, None)
    assert [cost.admin for cost in outcome.claims[0].costs] == [True]


def test_admin_access_keeps_no_other_claim_away() -> None:
    slices = [a_slice(*devices("d0"))]
    assert pick(slices, [ADMIN, a_claim(name="user")]) == [["d0"], ["d0"]]
    assert pick(slices, [a_claim(name="user"), ADMIN]) == [["d0"], ["d0"]]


def test_one_claim_never_gets_admin_access_to_one_device_twice() -> None:
    twice = a_claim(a_request("r1", adminAccess=True), a_request("r2", adminAccess=True))
    assert pick([a_slice(*devices("d0", "d1"))], [twice]) == [["d0", "d1"]]
    assert pick([a_slice(*devices("d0"))], [twice]) is None


def test_admin_access_is_not_exempt_from_taints() -> None:
    tainted = a_device("d0", taints=[{"key": "bad", "effect": "NoSchedule"}])
    assert pick([a_slice(tainted)], [ADMIN]) is None


def test_the_selector_sees_whether_a_device_may_be_shared() -> None:
    slices = [a_slice(a_device("a"), a_device("b", **SHARED))]
    claim = a_claim(
        a_request("r", 1, f'device.driver == "{DRIVER}" && device.allowMultipleAllocations')
    )
    assert pick(slices, [claim]) == [["b"]]
