"""Theme C, a device that two claims have, or none may: rows 34 to 46 that need no node."""

import pytest
from lab import (
    Lab,
    Object,
    a_claim,
    a_class,
    a_device,
    a_part,
    a_pod,
    a_pool_of_parts,
    a_request,
    a_slice,
    an_object,
)

from dra_allocator.core.decide import decide
from dra_shared.events.allocations import ReasonKind, Refusal

SHAREABLE = "device.allowMultipleAllocations"
ADMIN = an_object("Namespace", "ns1")
ADMIN["metadata"]["labels"] = {"resource.kubernetes.io/admin-access": "true"}


def shared_and_whole() -> tuple[Object, Object]:
    """A counter of 1 that both the shareable s0 and the exclusive x0 need."""
    parts = a_part("s0", "k", 1, allowMultipleAllocations=True), a_part("x0", "k", 1)
    return a_pool_of_parts("n1", "k", 1, *parts)


def admin(name: str = "r") -> Object:
    return a_request(name, adminAccess=True)


def test_row_34_a_new_claim_gets_exactly_what_was_given_back() -> None:
    lab = Lab(a_class(), a_slice("n1", [f"d{n}" for n in range(8)]))
    pairs = [a_claim(f"c{n}", a_request(count=2)) for n in range(1, 5)]
    for pair in pairs:
        lab.allocate(pair)
    before = {name: lab.devices(name) for name in ("c1", "c2", "c3", "c4")}
    lab.delete(pairs[1])
    lab.allocate(a_claim("c5", a_request(count=2)))
    assert lab.devices("c5") == before.pop("c2")
    assert {name: lab.devices(name) for name in before} == before


def test_row_36_an_allocator_that_was_restarted_knows_what_shares_cost() -> None:
    lab = Lab(a_class(), *shared_and_whole())
    lab.allocate(a_claim("c1", a_request(select=SHAREABLE)))
    lab.restart()
    lab.allocate(a_claim("c2", a_request(select=f"!{SHAREABLE}")))
    assert lab.reasons("c2")[ReasonKind.COUNTERS, "k/k used by s0"] == 1


def test_row_37_a_second_share_does_not_pay_the_counters_again() -> None:
    lab = Lab(a_class(), *shared_and_whole())
    lab.allocate(a_claim("c1", a_request(select=SHAREABLE)))
    lab.restart()
    lab.allocate(a_claim("c2", a_request(select=SHAREABLE)))
    (first,), (second,) = lab.results("c1"), lab.results("c2")
    assert first.device == second.device == "s0"
    assert second.share_id not in (None, first.share_id)


def test_row_39_a_device_that_is_passed_over_gives_its_counters_back() -> None:
    taint = {"key": "broken", "effect": "NoSchedule"}
    parts = a_part("q0", "mem", 40, taints=[taint]), a_part("q1", "mem", 40)
    lab = Lab(a_class(), *a_pool_of_parts("n1", "mem", 40, *parts))
    lab.allocate(a_claim("c1"))
    assert lab.devices("c1") == ["q1"]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_row_40_pools_of_one_name_are_two_pools_if_their_drivers_are(order: str) -> None:
    lab = Lab(*(a_class(each, f'device.driver == "drv-{each}"') for each in "ab"))
    for each, amount in (("a", 40), ("b", 10)):
        part = a_part(f"{each}0", "mem", amount)
        lab.apply(*a_pool_of_parts("n1", "mem", amount, part, driver=f"drv-{each}", pool="p"))
    for each in order:
        lab.allocate(a_claim(f"c{each}", a_request(of=each)))
    assert (lab.devices("ca"), lab.devices("cb")) == (["a0"], ["b0"])


def test_row_41_a_share_keeps_others_off_when_sharing_is_switched_off() -> None:
    lab = Lab(a_class(), a_slice("n1", [a_device("s0", allowMultipleAllocations=True)]))
    lab.allocate(a_claim("c1"))
    lab.allocate(a_slice("n1", ["s0"], generation=2), a_claim("c2"))
    assert lab.kinds("c2") == {ReasonKind.IN_USE: 1}
    lab.delete(a_claim("c1"))
    lab.allocate()
    assert lab.devices("c2") == ["s0"]


def test_row_42_admin_access_pays_no_counters() -> None:
    parts = a_part("x0", "k", 1), a_part("x1", "k", 1)
    lab = Lab(a_class(), ADMIN, *a_pool_of_parts("n1", "k", 1, *parts))
    lab.allocate(a_claim("c1"))
    lab.allocate(a_claim("c2", admin()))
    assert lab.devices("c1") == lab.devices("c2") == ["x0"]
    lab.delete(a_claim("c1"))
    lab.allocate(a_claim("c3"))
    assert lab.devices("c3") == ["x0"]


def test_row_43_two_admin_requests_of_a_claim_get_two_devices() -> None:
    lab = Lab(a_class(), ADMIN, a_slice("n1", ["d0", "d1"]))
    lab.allocate(a_claim("c1", admin("r1"), admin("r2")))
    assert lab.devices("c1") == ["d0", "d1"]


def test_row_43_two_admin_requests_do_not_get_one_device_twice() -> None:
    lab = Lab(a_class(), ADMIN, a_slice("n1", ["d0"]))
    lab.allocate(a_claim("c1", admin("r1"), admin("r2")))
    assert lab.kinds("c1") == {ReasonKind.NOT_ENOUGH: 1}


@pytest.mark.parametrize(
    ("asked", "gets"),
    [
        ("3Gi", "4Gi"),
        ("", "4Gi"),
        ("41Gi", None),
        ("1500Mi", "2Gi"),
        ("9e18", None),
        ("9e999", None),
    ],
)
def test_row_44_odd_and_huge_capacities_are_rounded_up_or_refused(
    asked: str, gets: str | None
) -> None:
    policy = {"default": "4Gi", "validRange": {"min": "2Gi", "max": "40Gi", "step": "2Gi"}}
    memory = {"value": "80Gi", "requestPolicy": policy}
    device = a_device("g0", capacity={"memory": memory}, allowMultipleAllocations=True)
    wish: Object = {"capacity": {"requests": {"memory": asked}}} if asked else {}
    lab = Lab(a_class(), a_slice("n1", [device]))
    lab.allocate(a_claim("c1", a_request(**wish)))
    if gets is None:
        assert lab.kinds("c1") == {ReasonKind.CAPACITY: 1}
    else:
        assert lab.results("c1")[0].consumed_capacity == {"memory": gets}


def test_row_45_decisions_that_are_only_tried_leave_nothing_behind() -> None:
    cluster = (a_class(), *shared_and_whole(), a_claim("c0", a_request(select=SHAREABLE)))
    lab, other = Lab(*cluster), Lab(*cluster)
    claim = a_claim("c1", a_request(select=SHAREABLE))
    for each in (lab, other):
        each.allocate()
        each.apply(claim)
    state = lab.rehearsal.engine.state
    before = state.hash()
    tries = {repr(decide(state, "pod-of/ns1/c1", "pack")) for _ in range(100)}
    assert len(tries) == 1
    assert state.hash() == before
    assert lab.allocate() == other.allocate()


def test_row_46_the_device_of_a_finished_pod_is_free_when_its_claim_is_given_back() -> None:
    """The claim controller takes the allocation of a claim that no pod uses any more."""
    pod, claim = a_pod("a", "c1"), a_claim("c1")
    lab = Lab(a_class(), a_slice("n1", ["d0"]))
    lab.allocate(pod, claim)
    (device,) = lab.results("c1")
    written = {"allocation": {"devices": {"results": [_as_written(device)]}}}
    lab.apply({**claim, "status": written}, {**pod, "status": {"phase": "Running"}})
    lab.allocate({**pod, "status": {"phase": "Succeeded"}}, a_claim("c2"))
    assert lab.refusal("c2").refusal is Refusal.UNSATISFIABLE
    lab.allocate(claim)
    assert lab.devices("c2") == ["d0"]


def _as_written(result: object) -> Object:
    return {name: getattr(result, name) for name in ("request", "driver", "pool", "device")}


BUS_ID = "resource.kubernetes.io/pciBusID"


def a_card(name: str, bus_id: str = "0000:41:00.0") -> Object:
    return a_device(name, attributes={BUS_ID: bus_id})


def test_row_47_a_card_that_two_drivers_publish_is_made_known() -> None:
    lab = Lab(
        a_slice("n1", [a_card("d0"), a_card("part0", "0000:42:00.0")], driver="drv-a"),
        a_slice("n1", [a_card("e0"), a_card("e1", "0000:43:00.0")], driver="drv-b"),
        a_slice("n2", [a_card("f0"), a_card("f1")], driver="drv-b"),
    )
    cards = lab.rehearsal.engine.state.cards
    ((card, devices),) = cards.twice.items()
    assert card == ("n1", "0000:41:00.0")
    assert [str(device) for device in devices] == ["drv-a/n1/d0", "drv-b/n1/e0"]
    lab.apply(a_slice("n1", [a_card("e1", "0000:43:00.0")], driver="drv-b", generation=2))
    assert cards.twice == {}


ONE_CARD = (
    a_class("any", "true"),
    a_slice("n1", [a_card("d0")], driver="drv-a"),
    a_slice("n1", [a_card("e0")], driver="drv-b"),
)


def test_row_47_a_strict_allocator_treats_such_a_card_as_one() -> None:
    lab = Lab(*ONE_CARD, policy="pack+strict-cards")
    lab.allocate(a_claim("c1"))
    lab.allocate(a_claim("c2"))
    assert lab.devices("c1") == ["d0"]
    assert lab.reasons("c2") == {
        (ReasonKind.IN_USE, ""): 1,
        (ReasonKind.IN_USE, "its card, through drv-a"): 1,
    }
    lab.restart()
    lab.delete(a_claim("c1"))
    lab.allocate(a_claim("c3", a_request(count=2)))
    assert lab.devices("c2") == ["d0"]
    assert lab.kinds("c3") == {ReasonKind.IN_USE: 2}


def test_row_47_a_claim_never_gets_both_sides_of_a_strict_card() -> None:
    strict, plain = Lab(*ONE_CARD, policy="pack+strict-cards"), Lab(*ONE_CARD)
    for lab in (strict, plain):
        lab.allocate(a_claim("c1", a_request(count=2)))
    detail = "one card with a device of another driver"
    assert strict.reasons("c1") == {(ReasonKind.CONSTRAINT, detail): 2}
    assert plain.devices("c1") == ["d0", "e0"]
