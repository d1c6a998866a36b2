"""The search itself: depth first, first fit, exhaustive, with a budget of steps.

One slot after the other (claim, request, alternative, device number) is given the first device
that fits; when a slot finds none, the search goes back to the slot before. Devices of one request
are taken in order, so that combinations are tried and not permutations. Each stage is a generator
that yields the stage below it; `_solve` keeps them on a stack of its own, so that depth is no
matter of Python's recursion. No clock, no chance.
"""

from collections.abc import Callable, Generator, Iterator
from enum import Enum, auto
from typing import ClassVar, NamedTuple

from dra_allocator.core.search.agreement import Agreement, States
from dra_allocator.core.search.offers import FIRST, Offers
from dra_allocator.core.search.outcome import Found, NotFound, Outcome, SearchLimit
from dra_allocator.core.search.plan import (
    Alternative,
    Place,
    PlannedClaim,
    Problem,
    locate_all,
    plan_claims,
)
from dra_allocator.core.search.pools import Pool, PoolFault
from dra_allocator.core.search.results import Chosen, build_claims
from dra_allocator.core.search.trial import PoolTrial
from dra_shared.kube.claims import MAX_RESULTS


class _Answer(Enum):
    """What a stage found.

    TOO_MANY: only an alternative of an earlier request that takes fewer devices can help. It never
    leaves its claim, because `locate_all` has seen that the smallest alternatives are not too many.
    """

    DONE = auto()
    FAILED = auto()
    TOO_MANY = auto()


_Stage = Generator["_Stage", _Answer, _Answer]


class _BudgetUsedError(Exception):
    """More candidates were tried than the caller allows."""


class _HopelessError(Exception):
    """Some request cannot be satisfied, whatever the others get."""


class Slot(NamedTuple):
    """The next device of a request to find, `needed` in all; `all_places` are those of mode All.

    `got`: devices that the request has; `used`: those that the claim has; `start`: where to look
    from; `states`: of the claim's constraints.
    """

    alternative: Alternative
    all_places: tuple[Place, ...] | None
    needed: int
    request: int
    got: int
    used: int
    start: Place
    states: States


def search(
    problem: Problem,
    *,
    budget: int,
    share_id: Callable[[int], str],
    planned: tuple[PlannedClaim, ...] | None = None,
) -> Outcome:
    """Give the devices that the claims get on the node, or say that there is no solution.

    `budget` bounds the candidates that are tried; `share_id` names the n-th share of the answer;
    `planned` is what `plan_claims` made of the claims, if it is known. Raises ClaimError for
    claims that upstream's structured allocator does not decide either.
    """
    if planned is None:
        planned = plan_claims(problem)
    return Search(problem, planned).run(budget, share_id)


class Search:
    """One search: what is chosen so far, and what that leaves of the pools."""

    long_after: ClassVar[int] = 64
    """Steps after which it is worth asking what can still be enough, before trying it."""

    def __init__(self, problem: Problem, planned: tuple[PlannedClaim, ...]) -> None:
        self._problem = problem
        self._planned = planned
        self._all_places = locate_all(problem, planned)
        self._offers = Offers(problem, self.trial_of)
        self._agreement = Agreement(problem, planned)
        self._chosen: list[Chosen] = []
        self._budget = 0
        self._steps = 0

    def run(self, budget: int, share_id: Callable[[int], str]) -> Outcome:
        """Search as `search` says; once."""
        self._budget = budget
        try:
            solved = next(self._solve(), False)
        except _BudgetUsedError:
            return SearchLimit(steps=budget)
        except _HopelessError:
            solved = False
        if solved:
            return self._found(share_id)
        invalid = any(pool.fault is PoolFault.INVALID for pool in self._problem.pools)
        return NotFound(steps=self._steps, invalid_pools=invalid)

    def solutions(self, budget: int, share_id: Callable[[int], str]) -> Iterator[Found]:
        """Give one solution after the other, ending early when the budget is used; once."""
        self._budget = budget
        try:
            for _ in self._solve():
                yield self._found(share_id)
        except (_BudgetUsedError, _HopelessError):
            return

    @property
    def steps(self) -> int:
        """Candidates tried so far."""
        return self._steps

    def trial_of(self, pool: Pool) -> PoolTrial:
        """Give a new trial of a pool; what taking a device means is its business."""
        return PoolTrial(pool, self._problem.in_use.of(pool.id), len(self._planned))

    def _found(self, share_id: Callable[[int], str]) -> Found:
        """Give what is chosen now."""
        claims = build_claims(self._problem, self._planned, self._chosen, share_id)
        return Found(claims=claims, steps=self._steps)

    def _solve(self) -> Iterator[bool]:
        """Run the stages; at each yield `_chosen` is a solution, and going on gives it up."""
        stack = [self._claim(0)]
        answer: _Answer | None = None
        while stack:
            try:
                below = stack[-1].send(answer) if answer else next(stack[-1])
            except StopIteration as stop:
                stack.pop()
                answer = stop.value
            else:
                stack.append(below)
                answer = None
            if answer is _Answer.DONE:
                yield True
                answer = _Answer.FAILED

    def _claim(self, number: int) -> _Stage:
        """Allocate this claim and those behind it."""
        if number == len(self._planned):
            return _Answer.DONE
        states: States = (None,) * len(self._planned[number].constraints)
        return (yield self._request(number, 0, 0, states))

    def _request(self, claim: int, number: int, used: int, states: States) -> _Stage:
        """Allocate this request of the claim and all behind it."""
        requests = self._planned[claim].requests
        if number == len(requests):
            return (yield self._claim(claim + 1))
        answers = set()
        for alternative in requests[number].alternatives:
            answers.add((yield self._device(self._first_slot(alternative, number, used, states))))
        return _Answer.TOO_MANY if answers == {_Answer.TOO_MANY} else _Answer.FAILED

    def _first_slot(
        self, alternative: Alternative, request: int, used: int, states: States
    ) -> Slot:
        all_places = self._all_places.get(alternative)
        count = alternative.count if all_places is None else len(all_places)
        return Slot(alternative, all_places, count or 0, request, 0, used, FIRST, states)

    def _device(self, slot: Slot) -> _Stage:
        """Allocate the next device of a request and all behind it."""
        if slot.all_places == ():
            return _Answer.FAILED
        if slot.got == slot.needed:
            claim = slot.alternative.claim
            return (yield self._request(claim, slot.request + 1, slot.used, slot.states))
        if slot.used + slot.needed - slot.got > MAX_RESULTS:
            return _Answer.TOO_MANY
        for place in self._places(slot):
            chosen = self._choose(slot, place)
            if chosen is None:
                continue
            self._chosen.append(chosen)
            answer = yield self._device(_next_slot(slot, place, chosen.states))
            self._chosen.pop()
            self._offers.trial(place.pool).give_back(chosen.taken)
            if answer is _Answer.TOO_MANY:
                return answer
        return _Answer.FAILED

    def _places(self, slot: Slot) -> Iterator[Place]:
        """Give the devices to try for a slot; none where those left cannot be enough."""
        if slot.all_places is not None:
            yield slot.all_places[slot.got]
        elif slot.needed - slot.got == 1 or self._may_suffice(self._offers, slot):
            yield from self._offers.places(slot.alternative, slot.start)

    def _choose(self, slot: Slot, place: Place) -> Chosen | None:
        """Take the device for the slot if it is to be had and the claim's constraints admit it.

        In upstream's order, because of what a failed constraint means in mode All: an error.
        """
        self._count_step()
        wanted, trial = slot.alternative, self._offers.trial(place.pool)
        consumed = self._offers.candidates(place.pool, wanted).consumed.get(place.device, {})
        lacking = trial.lacks_capacity(place.device, consumed, admin=wanted.admin)
        if lacking and slot.all_places is None:
            return None
        if not self._offers.is_free(place, wanted) or not trial.is_available(
            place.device, admin=wanted.admin
        ):
            return None
        device = trial.pool.devices[place.device]
        states = self._agreement.admit(wanted, device, slot.states)
        if states is None or lacking:
            return None
        taken = trial.take(place.device, wanted.claim, consumed, admin=wanted.admin)
        return Chosen(alternative=wanted, device=device, states=states, taken=taken)

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > self._budget:
            raise _BudgetUsedError
        if self._steps == self.long_after and self._is_hopeless():
            raise _HopelessError

    def _is_hopeless(self) -> bool:
        """Say whether some request finds too little even in untouched pools, and none is an error."""
        untouched = Offers(self._problem, self.trial_of)
        requests = [request for claim in self._planned for request in claim.requests]
        wanted = [one for request in requests for one in request.alternatives]
        if any(untouched.may_fail(one) for one in wanted):
            return False
        return any(
            not any(self._may_start(untouched, one) for one in request.alternatives)
            for request in requests
        )

    def _may_start(self, untouched: Offers, wanted: Alternative) -> bool:
        """Say whether untouched pools may hold enough for a request."""
        if wanted.count is None:
            places = self._all_places[wanted]
            return bool(places) and all(untouched.is_free(place, wanted) for place in places)
        states: States = (None,) * len(self._planned[wanted.claim].constraints)
        return self._may_suffice(untouched, self._first_slot(wanted, 0, 0, states))

    def _may_suffice(self, offers: Offers, slot: Slot) -> bool:
        """Say whether the devices from the slot on may be enough; asks closely in a long search."""
        wanted, needed = slot.alternative, slot.needed - slot.got
        if not offers.may_suffice(wanted, slot.start, needed):
            return False
        if self._steps < self.long_after or not wanted.constraints or offers.may_fail(wanted):
            return True
        pools = self._problem.pools
        places = offers.places(wanted, slot.start)
        devices = [pools[place.pool].devices[place.device] for place in places]
        return self._agreement.most(wanted, devices, slot.states) >= needed


def _next_slot(slot: Slot, place: Place, states: States) -> Slot:
    return slot._replace(
        got=slot.got + 1,
        used=slot.used + 1,
        start=Place(place.pool, place.device + 1),
        states=states,
    )
