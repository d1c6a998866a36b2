"""What holds for every problem: sound answers, no false "cannot", the same answer every time."""

import msgspec
from hypothesis import given
from unit.allocator.search.builders import a_problem, share_ids
from unit.allocator.search.checker import Case, violations
from unit.allocator.search.exhaustive import any_solution
from unit.allocator.search.strategies import cases

from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.outcome import ClaimError, Found, NotFound, Outcome
from dra_allocator.core.search.plan import plan_claims
from dra_allocator.core.search.search import Search, search
from dra_allocator.core.search.why import explain


class WarySearch(Search):
    """Asks at once what others ask only when the search gets long."""

    long_after = 1


def outcome_of(case: Case, kind: type[Search] = Search) -> Outcome | str:
    try:
        problem = a_problem(case)
        return kind(problem, plan_claims(problem)).run(10_000, share_ids())
    except ClaimError as error:
        return error.message


@given(cases())
def test_every_answer_is_sound(case: Case) -> None:
    outcome = outcome_of(case)
    if isinstance(outcome, Found):
        assert violations(case, [one.allocation for one in outcome.claims]) == []


@given(cases())
def test_cannot_means_that_no_answer_is_sound(case: Case) -> None:
    outcome = outcome_of(case)
    if isinstance(outcome, NotFound):
        assert any_solution(case) is None


@given(cases())
def test_the_same_problem_has_the_same_answer(case: Case) -> None:
    assert msgspec.to_builtins(outcome_of(case)) == msgspec.to_builtins(outcome_of(case))


@given(cases())
def test_looking_ahead_changes_no_answer(case: Case) -> None:
    usual, wary = outcome_of(case), outcome_of(case, WarySearch)
    assert type(usual) is type(wary)
    if isinstance(usual, Found) and isinstance(wary, Found):
        assert usual.claims == wary.claims
    if isinstance(usual, str):
        assert usual == wary


@given(cases())
def test_a_search_changes_nothing_that_it_was_given(case: Case) -> None:
    problem = a_problem(case)
    before = list(problem.in_use.costs())
    for _ in range(2):
        try:
            search(problem, budget=1000, share_id=share_ids())
        except ClaimError:
            continue
    assert list(problem.in_use.costs()) == before == list(InUse(case.in_use).costs())


@given(cases())
def test_with_an_answer_in_use_the_next_one_is_sound_beside_it(case: Case) -> None:
    outcome = outcome_of(case)
    if not isinstance(outcome, Found):
        return
    costs = tuple(cost for one in outcome.claims for cost in one.costs)
    again = case._replace(in_use=case.in_use + costs)
    second = outcome_of(again)
    if isinstance(second, Found):
        assert violations(again, [one.allocation for one in second.claims]) == []


@given(cases())
def test_reasons_count_every_device_once(case: Case) -> None:
    problem = a_problem(case)
    explanation = explain(problem)
    devices = sum(len(pool.devices) for pool in problem.pools)
    assert explanation.devices == devices == sum(one.devices for one in explanation.reasons)
