"""What a request gets: counts, All, alternatives, selectors, the order of devices."""

from typing import Any

import pytest
from unit.allocator.search.builders import (
    DRIVER,
    EVERYTHING,
    a_case,
    a_claim,
    a_class,
    a_cost,
    a_device,
    a_problem,
    a_request,
    a_slice,
    a_wish,
    chosen,
    devices,
    everything,
    first_available,
    pick,
    share_ids,
    solve,
)
from unit.allocator.search.checker import Case

from dra_allocator.core.search.candidates import MOST_SHAPES, candidates
from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.outcome import ClaimError, ErrorKind, Found, NotFound, SearchLimit
from dra_allocator.core.search.plan import plan_claims
from dra_allocator.core.search.search import search
from dra_allocator.core.search.shapes import RequestShape
from dra_shared.kube.devices import ResourceSlice

BIG = f'device.attributes["{DRIVER}"].size == "big"'


def sized(name: str, size: str) -> dict[str, object]:
    return a_device(name, attributes={"size": size})


def error_kind(case: Case) -> ErrorKind:
    with pytest.raises(ClaimError) as caught:
        solve(case)
    return caught.value.kind


def test_devices_are_taken_in_the_order_of_pools_slices_and_lists() -> None:
    slices = [
        a_slice(*devices("y", "x"), name="b", count=2),
        a_slice(*devices("z"), name="a", count=2),
        a_slice(*devices("first"), pool="a"),
    ]
    assert pick(slices, [a_claim(a_request(count=4))]) == [["first", "z", "y", "x"]]


def test_pools_with_binding_conditions_come_last() -> None:
    slices = [
        a_slice(a_device("bound", bindingConditions=["ready"]), pool="a"),
        a_slice(*devices("plain"), pool="b"),
    ]
    assert pick(slices, [a_claim(a_request(count=2))]) == [["plain", "bound"]]


def test_an_exact_count_is_met_or_nothing_is_given() -> None:
    slices = [a_slice(*devices("d0", "d1"))]
    assert pick(slices, [a_claim(a_request(count=2))]) == [["d0", "d1"]]
    assert pick(slices, [a_claim(a_request(count=3))]) is None


def test_all_claims_are_allocated_together_or_not_at_all() -> None:
    slices = [a_slice(*devices("d0", "d1"))]
    one, two = a_claim(name="c1"), a_claim(name="c2")
    assert pick(slices, [one, two]) == [["d0"], ["d1"]]
    assert pick(slices, [one, two, a_claim(name="c3")]) is None


def test_nothing_to_allocate_is_a_solution() -> None:
    assert pick([], []) == []


def test_an_earlier_choice_is_changed_when_a_later_request_needs_the_device() -> None:
    slices = [a_slice(sized("a", "big"), sized("b", "small"))]
    claim = a_claim(a_request("r1"), a_request("r2", 1, BIG))
    assert pick(slices, [claim]) == [["b", "a"]]


def test_selectors_of_class_and_request_must_both_hold() -> None:
    slices = [a_slice(sized("a", "small"), sized("b", "big"))]
    narrow = a_class("big", BIG)
    assert pick(slices, [a_claim(a_request(deviceClassName="big"))], classes=[narrow]) == [["b"]]
    other = a_request("r", 1, f'device.attributes["{DRIVER}"].size == "small"')
    other["exactly"]["deviceClassName"] = "big"
    assert pick(slices, [a_claim(other)], classes=[narrow]) is None


def test_a_selector_error_counts_only_where_the_search_gets_to() -> None:
    slices = [a_slice(sized("a", "big"), a_device("b"))]
    assert pick(slices, [a_claim(a_request("r", 1, BIG))]) == [["a"]]
    case = a_case(slices, [a_claim(a_request("r", 2, BIG))])
    assert error_kind(case) is ErrorKind.SELECTOR


def test_a_selector_error_on_a_device_in_use_does_not_matter() -> None:
    slices = [a_slice(a_device("b"), sized("a", "big"))]
    assert pick(slices, [a_claim(a_request("r", 1, BIG))], [a_cost("b")]) == [["a"]]


def test_a_selector_that_does_not_compile_names_its_device() -> None:
    case = a_case([a_slice(*devices("d0"))], [a_claim(a_request("r", 1, "1 +"))])
    with pytest.raises(ClaimError, match="n1/d0"):
        solve(case)


def test_all_means_every_matching_device_of_the_node_and_at_least_one() -> None:
    slices = [a_slice(sized("a", "big"), sized("b", "big"), sized("x", "small"))]
    all_big = a_claim({"name": "r", "exactly": a_wish(1, BIG, **everything())})
    assert pick(slices, [all_big]) == [["a", "b"]]
    assert pick([a_slice(sized("x", "small"))], [all_big]) is None
    assert pick([], [all_big]) is None


def test_all_is_refused_while_one_of_the_devices_is_in_use() -> None:
    all_devices = a_claim({"name": "r", "exactly": a_wish(**everything())})
    assert pick([a_slice(*devices("a", "b"))], [all_devices], [a_cost("b")]) is None


@pytest.mark.parametrize(
    ("slices", "kind"),
    [
        ([a_slice(*devices("a"), count=2)], ErrorKind.POOL_INCOMPLETE),
        ([a_slice(*devices("a", "a"))], ErrorKind.POOL_INVALID),
    ],
)
def test_all_is_an_error_while_a_pool_is_not_whole_and_sound(
    slices: list[ResourceSlice], kind: ErrorKind
) -> None:
    all_devices = a_claim({"name": "r", "exactly": a_wish(**everything())})
    assert error_kind(a_case(slices, [all_devices])) is kind


def test_the_first_alternative_that_fits_is_taken_and_named_in_the_result() -> None:
    slices = [a_slice(sized("big0", "big"), sized("small0", "small"))]
    wish = first_available(large=a_wish(1, BIG), small=a_wish())
    outcome = solve(a_case(slices, [a_claim(wish)], [a_cost("big0")]))
    assert isinstance(outcome, Found)
    (result,) = outcome.claims[0].allocation.devices.results or ()
    assert (result.request, result.device) == ("r/small", "small0")


def test_all_within_alternatives_leaves_the_next_one_free() -> None:
    slices = [a_slice(sized("big0", "big"), sized("small0", "small"))]
    wish = first_available(every=a_wish(1, BIG, **everything()), one=a_wish())
    assert pick(slices, [a_claim(wish)], [a_cost("big0")]) == [["small0"]]


def test_a_smaller_alternative_is_taken_where_the_limit_of_results_leaves_no_other() -> None:
    slices = [
        a_slice(*devices(*(f"d{n}" for n in range(40))), pool="a"),
    ]
    wishes = [first_available(f"r{n}", many=a_wish(32), some=a_wish(16)) for n in (1, 2)]
    picked = pick(slices, [a_claim(*wishes)])
    assert picked is not None
    assert len(picked[0]) == 32


def test_an_alternative_that_is_too_large_does_not_hide_one_that_was_merely_taken() -> None:
    slices = [a_slice(sized("special", "big"), sized("other", "small"))]
    wish = first_available("r2", one=a_wish(1, BIG), many=a_wish(32))
    assert pick(slices, [a_claim(a_request("r1"), wish)]) == [["other", "special"]]


def test_too_few_devices_do_not_hide_an_error_that_upstream_would_meet() -> None:
    derived = [{"name": f"{DRIVER}/a", "expression": f'device.attributes["{DRIVER}"].nope'}]
    constraint = {"matchAttribute": f"{DRIVER}/a"}
    claim = a_claim(a_request(count=3, derivedAttributes=derived), constraints=[constraint])
    case = a_case([a_slice(*devices("d0", "d1"))], [claim])
    assert error_kind(case) is ErrorKind.DERIVED_ATTRIBUTE


def test_a_claim_for_more_than_32_devices_is_an_error() -> None:
    case = a_case([], [a_claim(a_request("r1", 20), a_request("r2", 13))])
    assert error_kind(case) is ErrorKind.TOO_MANY_DEVICES


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"deviceClassName": "gone"}, ErrorKind.CLASS_MISSING),
        ({"deviceClassName": ""}, ErrorKind.MALFORMED),
        ({"allocationMode": "AtLeast"}, ErrorKind.MALFORMED),
        ({"selectors": [{}]}, ErrorKind.MALFORMED),
        ({"capacity": {"requests": {"memory": "lots"}}}, ErrorKind.MALFORMED),
    ],
)
def test_a_request_that_means_nothing_is_an_error_of_its_kind(
    fields: dict[str, Any], kind: ErrorKind
) -> None:
    assert error_kind(a_case([], [a_claim(a_request(**fields))])) is kind


def test_a_constraint_of_no_known_kind_is_an_error() -> None:
    assert error_kind(a_case([], [a_claim(constraints=[{}])])) is ErrorKind.MALFORMED


@pytest.mark.parametrize(
    ("request_", "feature"),
    [
        (first_available(a=a_wish()), Feature.PRIORITIZED_LIST),
        (a_request(adminAccess=True), Feature.ADMIN_ACCESS),
        (a_request(adminAccess=False), Feature.ADMIN_ACCESS),
        (a_request(capacity={"requests": {"m": "1"}}), Feature.CONSUMABLE_CAPACITY),
        (
            a_request(derivedAttributes=[{"name": "a/b", "expression": "1"}]),
            Feature.DERIVED_ATTRIBUTES,
        ),
    ],
)
def test_a_feature_that_is_off_may_not_be_asked_for(
    request_: dict[str, object], feature: Feature
) -> None:
    features = EVERYTHING - {feature}
    assert error_kind(a_case([], [a_claim(request_)], (), features)) is ErrorKind.FEATURE_OFF


def test_the_search_stops_when_its_budget_is_used_up() -> None:
    slices = [a_slice(*devices(*(f"d{n}" for n in range(20))))]
    constraint = {"matchAttribute": f"{DRIVER}/none"}
    claim = a_claim(a_request(count=10), constraints=[constraint])
    case = a_case(slices, [claim])
    assert solve(case, budget=10) == SearchLimit(steps=10)
    assert isinstance(solve(case, budget=100), NotFound)


def test_a_request_that_nothing_satisfies_ends_the_search_early() -> None:
    slices = [a_slice(*(sized(f"d{n}", "small") for n in range(30)))]
    claim = a_claim(a_request("r1", 10), a_request("r2", 1, BIG))
    assert isinstance(solve(a_case(slices, [claim]), budget=100), NotFound)
    assert isinstance(solve(a_case(slices, [a_claim(a_request("r", 31))]), budget=1), NotFound)


@pytest.mark.parametrize("kind", ["matchAttribute", "distinctAttribute"])
def test_a_constraint_that_so_many_devices_cannot_meet_ends_the_search_early(kind: str) -> None:
    slices = [a_slice(*(a_device(f"d{n}", attributes={"numa": n % 4}) for n in range(32)))]
    claim = a_claim(a_request(count=9), constraints=[{kind: f"{DRIVER}/numa"}])
    assert isinstance(solve(a_case(slices, [claim]), budget=100), NotFound)


def test_depth_is_no_matter_of_the_interpreters_stack() -> None:
    names = [f"d{n}" for n in range(1200)]
    slices = [a_slice(*devices(*names))]
    claims = [a_claim(name=f"c{n}") for n in range(1200)]
    picked = pick(slices, claims)
    assert picked is not None
    assert [one for (one,) in picked] == names


def test_a_pool_remembers_the_candidates_of_so_many_shapes_and_no_more() -> None:
    problem = a_problem(a_case([a_slice(*devices("d0"))], []))
    (pool,) = problem.pools
    for number in range(MOST_SHAPES + 9):
        shape = RequestShape(selectors=(f"{number} == {number}",))
        assert candidates(pool, shape, problem.selectors).usable == 1
    assert len(pool.candidates) == MOST_SHAPES


def test_a_plan_made_once_serves_every_node() -> None:
    claim = a_claim({"name": "r", "exactly": a_wish(**everything())})
    planned = plan_claims(a_problem(a_case([], [claim])))
    for name in ("d0", "d1"):
        problem = a_problem(a_case([a_slice(*devices(name))], [claim]))
        outcome = search(problem, budget=10, share_id=share_ids(), planned=planned)
        assert chosen(outcome) == [[name]]
