"""Devices of several drivers on one card: in a search that minds them, they are one."""

from collections.abc import Iterable, Iterator

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from unit.allocator.search.builders import (
    a_case,
    a_claim,
    a_cost,
    a_device,
    a_problem,
    a_request,
    a_slice,
    a_wish,
    devices,
    everything,
    share_ids,
)

from dra_allocator.core.search.outcome import Found, Outcome
from dra_allocator.core.search.plan import Problem, Twins, plan_claims
from dra_allocator.core.search.search import Search
from dra_allocator.core.search.twins import TwinSearch, costs_of_twins, searching
from dra_allocator.core.search.why import explain
from dra_shared.events.allocations import Cost, ReasonKind, of_results
from dra_shared.ids import DeviceId
from dra_shared.kube.claims import ResourceClaim
from dra_shared.kube.devices import ResourceSlice

OTHER = "other.lab.example"
BUDGET = 10_000


def ours(name: str) -> DeviceId:
    return a_cost(name).device


def theirs(name: str) -> DeviceId:
    return DeviceId(OTHER, "b", name)


def twins(*pairs: tuple[DeviceId, DeviceId]) -> Twins:
    """Each of a pair is the twin of the other."""
    found: dict[DeviceId, tuple[DeviceId, ...]] = {}
    for one, other in pairs:
        found[one] = (*found.get(one, ()), other)
        found[other] = (*found.get(other, ()), one)
    return found


ONE_CARD = twins((ours("d0"), theirs("e0")))
TWO_CARDS = twins((ours("d0"), theirs("e0")), (ours("d1"), theirs("e1")))


def slices(*names: str, of_others: tuple[str, ...] = ()) -> list[ResourceSlice]:
    return [a_slice(*devices(*names)), a_slice(*devices(*of_others), pool="b", driver=OTHER)]


def problem(
    parts: list[ResourceSlice],
    claims: Iterable[ResourceClaim],
    of_cards: Twins,
    held: Iterable[Cost] = (),
) -> Problem:
    return msgspec.structs.replace(a_problem(a_case(parts, claims, held)), twins=of_cards)


def solve(asked: Problem) -> Outcome:
    return searching(asked, plan_claims(asked)).run(BUDGET, share_ids())


def results(found: Outcome | Found) -> list[list[str]] | None:
    """The devices of each claim; None if there is no solution."""
    if not isinstance(found, Found):
        return None
    return [[one.device for one in c.allocation.devices.results or ()] for c in found.claims]


def costs(found: Outcome) -> tuple[Cost, ...]:
    assert isinstance(found, Found)
    return tuple(cost for claim in found.claims for cost in claim.costs)


def why(asked: Problem) -> dict[tuple[ReasonKind, str], int]:
    return {(one.kind, one.detail): one.devices for one in explain(asked).reasons}


def test_where_there_are_no_twins_it_is_the_search_itself() -> None:
    asked = a_problem(a_case(slices("d0"), [a_claim()]))
    assert type(searching(asked, plan_claims(asked))) is Search


def test_who_gets_a_device_has_its_twin_which_is_no_result() -> None:
    found = solve(problem(slices("d0", of_others=("e0",)), [a_claim()], ONE_CARD))
    assert results(found) == [["d0"]]
    assert costs(found) == (a_cost("d0"), Cost(device=theirs("e0"), card_of=ours("d0")))


def test_a_twin_of_what_is_held_is_in_use_by_its_card() -> None:
    held = [a_cost("d0"), Cost(device=theirs("e0"), card_of=ours("d0"))]
    asked = problem(slices("d0", of_others=("e0",)), [a_claim()], ONE_CARD, held)
    assert results(solve(asked)) is None
    assert why(asked) == {
        (ReasonKind.IN_USE, ""): 1,
        (ReasonKind.IN_USE, "its card, through dev.lab.example"): 1,
    }


def test_the_card_stays_held_when_its_driver_has_withdrawn_the_device() -> None:
    held = [a_cost("d0"), Cost(device=theirs("e0"), card_of=ours("d0"))]
    asked = problem(slices(of_others=("e0",)), [a_claim()], twins(), held)
    assert results(solve(asked)) is None
    assert why(asked) == {(ReasonKind.IN_USE, "its card, through dev.lab.example"): 1}


def test_a_twin_that_came_later_is_not_given_away() -> None:
    asked = problem(slices("d0", of_others=("e0",)), [a_claim()], ONE_CARD, [a_cost("d0")])
    assert results(solve(asked)) is None
    assert (ReasonKind.IN_USE, "its card, through dev.lab.example") in why(asked)


def test_one_pod_does_not_get_both_and_goes_on_with_other_devices() -> None:
    two = [a_claim(name="c1"), a_claim(name="c2")]
    parts = slices("d0", of_others=("e0", "e1"))
    assert results(solve(problem(parts, two, ONE_CARD))) == [["d0"], ["e1"]]
    one = [a_claim(a_request(count=2))]
    assert results(solve(problem(parts, one, ONE_CARD))) == [["d0", "e1"]]
    only = problem(slices("d0", of_others=("e0",)), one, ONE_CARD)
    assert results(solve(only)) is None
    assert why(only) == {(ReasonKind.CONSTRAINT, "one card with a device of another driver"): 2}


def test_a_choice_is_taken_back_for_the_card_that_somebody_else_needs() -> None:
    wants_e0 = a_claim(a_request("r", 1, f'device.driver == "{OTHER}"'), name="c2")
    parts = slices("d0", "d1", of_others=("e0",))
    assert results(solve(problem(parts, [a_claim(), wants_e0], ONE_CARD))) == [["d1"], ["e0"]]


def test_all_is_never_half_a_card() -> None:
    wish = [a_claim({"name": "r", "exactly": {"deviceClassName": "any", **everything()}})]
    assert results(solve(problem(slices("d0", of_others=("e0",)), wish, ONE_CARD))) is None
    assert results(solve(problem(slices("d0", of_others=("e1",)), wish, twins()))) is not None


def test_all_solutions_are_told_and_none_of_them_has_both() -> None:
    asked = problem(
        slices("d0", "d1", of_others=("e0", "e1")), [a_claim(a_request(count=2))], TWO_CARDS
    )
    found = searching(asked, plan_claims(asked)).solutions(BUDGET, share_ids())
    assert [results(one) for one in found] == [
        [["d0", "d1"]], [["d0", "e1"]], [["d1", "e0"]], [["e0", "e1"]],
    ]  # fmt: skip


def test_parts_of_one_driver_on_one_card_go_together_and_hold_the_card_for_others() -> None:
    parts, card = slices("p0", "p1", of_others=("e0",)), theirs("e0")
    of_card = twins((ours("p0"), card), (ours("p1"), card))
    found = solve(problem(parts, [a_claim(a_request(count=2))], of_card))
    assert results(found) == [["p0", "p1"]]
    assert costs(found)[2:] == (Cost(device=card, card_of=ours("p0")),)
    held = [a_cost("p0"), Cost(device=card, card_of=ours("p0"))]
    assert results(solve(problem(parts, [a_claim()], of_card, held))) == [["p1"]]
    whole = [Cost(device=card), *(Cost(device=ours(p), card_of=card) for p in ("p0", "p1"))]
    assert results(solve(problem(parts, [a_claim()], of_card, whole))) is None


def test_shares_of_a_device_hold_its_twin_whole() -> None:
    parts = [
        a_slice(a_device("d0", allowMultipleAllocations=True)),
        a_slice(a_device("e0", allowMultipleAllocations=True), pool="b", driver=OTHER),
    ]
    found = solve(problem(parts, [a_claim(name="c1"), a_claim(name="c2")], ONE_CARD))
    assert results(found) == [["d0"], ["d0"]]
    again = solve(problem(parts, [a_claim()], ONE_CARD, costs(found)))
    assert results(again) == [["d0"]]
    e0 = a_claim(a_request("r", 1, f'device.driver == "{OTHER}"'))
    assert results(solve(problem(parts, [e0], ONE_CARD, costs(found)))) is None


def test_admin_access_sees_all_devices_and_holds_no_card() -> None:
    looks = a_claim(a_request(count=2, adminAccess=True))
    held = [a_cost("d0"), Cost(device=theirs("e0"), card_of=ours("d0"))]
    asked = problem(slices("d0", of_others=("e0",)), [looks], ONE_CARD, held)
    found = solve(asked)
    assert results(found) == [["d0", "e0"]]
    assert all(cost.admin and cost.card_of is None for cost in costs(found))
    both = problem(slices("d0", of_others=("e0",)), [looks, a_claim(name="c2")], ONE_CARD)
    assert results(solve(both)) == [["d0", "e0"], ["d0"]]


def test_a_device_that_three_drivers_publish_holds_both_others() -> None:
    card = {ours("d0"): (theirs("e0"), theirs("f0"))}
    assert [cost.device.device for cost in costs_of_twins([a_cost("d0")], card)] == ["e0", "f0"]


NAMES = [f"d{n}" for n in range(4)]
CARDS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), unique=True, max_size=6)
WISHES = st.lists(st.integers(1, 3), min_size=1, max_size=3)
HELD = st.sets(st.sampled_from(NAMES), max_size=2)


def _both(taken: Iterable[DeviceId], of_cards: Twins) -> Iterator[tuple[DeviceId, DeviceId]]:
    all_taken = set(taken)
    return ((one, twin) for one in all_taken for twin in of_cards.get(one, ()) if twin in all_taken)


@given(CARDS, WISHES, HELD)
def test_what_is_found_is_what_the_plain_search_finds_that_has_no_both(
    cards: list[tuple[str, str]], wishes: list[int], held: set[str]
) -> None:
    """All solutions without twins, in their order: nothing else is lost, and nothing is new."""
    of_cards = twins(*((ours(one), theirs(other)) for one, other in cards))
    claims = [
        a_claim({"name": "r", "exactly": a_wish(count)}, name=f"c{n}")
        for n, count in enumerate(wishes)
    ]
    in_use = [a_cost(name) for name in sorted(held)]
    parts = slices(*NAMES[:3], of_others=tuple(NAMES))
    asked = problem(parts, claims, of_cards, in_use)
    planned = plan_claims(asked)
    plain = [
        found
        for found in Search(asked, planned).solutions(BUDGET, share_ids())
        if not any(
            _both([*(cost.device for cost in costs(found)), *(c.device for c in in_use)], of_cards)
        )
    ]
    minding = list(TwinSearch(asked, planned).solutions(BUDGET, share_ids()))
    least = min(len(plain), len(minding))
    assert [results(one) for one in minding][:least] == [results(one) for one in plain][:least]
    assert len(minding) >= len(plain)
    for found in minding:
        taken = [cost.device for cost in of_results(costs(found))]
        assert not any(_both([*taken, *(c.device for c in in_use)], of_cards))
