"""The search itself: depth first, first fit, exhaustive, with a budget of steps.

One slot after the other (claim, request, alternative, device number) is given the first device
that fits; when a slot finds none, the search goes back to the slot before. Devices of one request
are taken in order, so that combinations are tried and not permutations. Each stage is a generator
that yields the stages below it; `_run` keeps them on a stack of its own, so that depth is no
matter of Python's recursion. No clock, no chance.
"""

from collections.abc import Callable, Generator, Iterator
from enum import Enum, auto
from typing import NamedTuple

from dra_allocator.core.search.attributes import Values, find_attribute, values_of
from dra_allocator.core.search.constraints import State
from dra_allocator.core.search.devices import PoolDevice
from dra_allocator.core.search.features import Feature
from dra_allocator.core.search.outcome import (
    ClaimError,
    ErrorKind,
    Found,
    NotFound,
    Outcome,
    SearchLimit,
)
from dra_allocator.core.search.plan import (
    Alternative,
    Place,
    PlannedClaim,
    Problem,
    candidates_of,
    locate_all,
    plan_claims,
)
from dra_allocator.core.search.pools import Pool, PoolFault
from dra_allocator.core.search.results import Chosen, build_claims
from dra_allocator.core.search.selectors import SelectorError
from dra_allocator.core.search.trial import PoolTrial
from dra_shared.kube.claims import MAX_RESULTS

FIRST = Place(0, 0)


class _Answer(Enum):
    """What a stage found. TOO_MANY: only fewer devices in an earlier choice can help."""

    DONE = auto()
    FAILED = auto()
    TOO_MANY = auto()


_Stage = Generator["_Stage", _Answer, _Answer]


class _BudgetUsedError(Exception):
    """More candidates were tried than the caller allows."""


class _Slot(NamedTuple):
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
    states: tuple[State, ...]


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
    """One search: what is chosen so far, and the trial of what that takes."""

    def __init__(self, problem: Problem, planned: tuple[PlannedClaim, ...]) -> None:
        self._problem = problem
        self._planned = planned
        self._all_places = locate_all(problem, planned)
        self._trials: dict[int, PoolTrial] = {}
        self._chosen: list[Chosen] = []
        self._budget = 0
        self._steps = 0

    def run(self, budget: int, share_id: Callable[[int], str]) -> Outcome:
        """Search as `search` says; once."""
        self._budget = budget
        try:
            solved = self._solve()
        except _BudgetUsedError:
            return SearchLimit(steps=budget)
        if solved:
            claims = build_claims(self._problem, self._planned, self._chosen, share_id)
            return Found(claims=claims, steps=self._steps)
        invalid = any(pool.fault is PoolFault.INVALID for pool in self._problem.pools)
        return NotFound(steps=self._steps, invalid_pools=invalid)

    def trial_of(self, pool: Pool) -> PoolTrial:
        """Give a new trial of a pool; what taking a device means is its business."""
        return PoolTrial(pool, self._problem.in_use.of(pool.id), len(self._planned))

    def _solve(self) -> bool:
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
        return answer is _Answer.DONE

    def _claim(self, number: int) -> _Stage:
        """Allocate this claim and those behind it."""
        if number == len(self._planned):
            return _Answer.DONE
        states: tuple[State, ...] = (None,) * len(self._planned[number].constraints)
        answer = yield self._request(number, 0, 0, states)
        # A claim before this one may leave room for an alternative here that needs fewer devices.
        return _Answer.FAILED if answer is _Answer.TOO_MANY else answer

    def _request(self, claim: int, number: int, used: int, states: tuple[State, ...]) -> _Stage:
        """Allocate this request of the claim and all behind it."""
        requests = self._planned[claim].requests
        if number == len(requests):
            return (yield self._claim(claim + 1))
        answers = set()
        for alternative in requests[number].alternatives:
            answer = yield self._device(self._first_slot(alternative, number, used, states))
            if answer is _Answer.DONE:
                return answer
            answers.add(answer)
        return _Answer.TOO_MANY if answers == {_Answer.TOO_MANY} else _Answer.FAILED

    def _first_slot(
        self, alternative: Alternative, request: int, used: int, states: tuple[State, ...]
    ) -> _Slot:
        all_places = self._all_places.get(alternative)
        count = alternative.count if all_places is None else len(all_places)
        return _Slot(alternative, all_places, count or 0, request, 0, used, FIRST, states)

    def _device(self, slot: _Slot) -> _Stage:
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
            answer = yield self._device(
                slot._replace(
                    got=slot.got + 1,
                    used=slot.used + 1,
                    start=Place(place.pool, place.device + 1),
                    states=chosen.states,
                )
            )
            if answer is _Answer.DONE:
                return answer
            self._chosen.pop()
            self._trial(place.pool).give_back(chosen.taken)
            if answer is _Answer.TOO_MANY:
                return answer
        return _Answer.FAILED

    def _places(self, slot: _Slot) -> Iterator[Place]:
        """Give the devices to try for a slot, in order. Raises ClaimError at one that is an error."""
        if slot.all_places is not None:
            yield slot.all_places[slot.got]
            return
        for number in range(slot.start.pool, len(self._problem.pools)):
            if self._problem.pools[number].fault is not None:
                continue
            found = candidates_of(self._problem, number, slot.alternative)
            mask = (found.usable | found.failed) & self._free(number, slot.alternative)
            if number == slot.start.pool:
                mask = mask >> slot.start.device << slot.start.device
            while mask:
                device = (mask & -mask).bit_length() - 1
                mask &= mask - 1
                if device in found.errors:
                    raise found.errors[device]
                yield Place(number, device)

    def _choose(self, slot: _Slot, place: Place) -> Chosen | None:
        """Take the device for the slot if it is to be had and the claim's constraints admit it.

        In upstream's order, because of what a failed constraint means in mode All: an error.
        """
        self._steps += 1
        if self._steps > self._budget:
            raise _BudgetUsedError
        alternative, trial = slot.alternative, self._trial(place.pool)
        found = candidates_of(self._problem, place.pool, alternative)
        consumed = found.consumed.get(place.device, {})
        lacking = trial.lacks_capacity(place.device, consumed, admin=alternative.admin)
        if lacking and slot.all_places is None:
            return None
        if not (found.usable & self._free(place.pool, alternative)) >> place.device & 1:
            return None
        if not self._is_available(trial, place, alternative):
            return None
        states = self._constrain(slot, trial.pool.devices[place.device])
        if states is None or lacking:
            return None
        return Chosen(
            alternative=alternative,
            device=trial.pool.devices[place.device],
            states=states,
            taken=trial.take(place.device, alternative.claim, consumed, admin=alternative.admin),
        )

    def _is_available(self, trial: PoolTrial, place: Place, alternative: Alternative) -> bool:
        return not trial.lacks_counters(
            place.device, admin=alternative.admin
        ) and not trial.clashes(place.device, admin=alternative.admin)

    def _constrain(self, slot: _Slot, device: PoolDevice) -> tuple[State, ...] | None:
        """Give the states of the claim's constraints with one more device, None if one fails."""
        alternative = slot.alternative
        if not alternative.constraints:
            return slot.states
        states = list(slot.states)
        lists = Feature.LIST_ATTRIBUTES in self._problem.features
        for number in alternative.constraints:
            constraint = self._planned[alternative.claim].constraints[number]
            values = self._values(alternative, device, constraint.attribute)
            states[number] = constraint.admit(states[number], values, lists=lists)
            if states[number] is not None:
                continue
            if slot.all_places is not None:
                message = f"{alternative.name} must have all devices, but {device.id} does not go with the others: {constraint.attribute}"
                raise ClaimError(ErrorKind.CONSTRAINT, message)
            return None
        return tuple(states)

    def _values(self, alternative: Alternative, device: PoolDevice, name: str) -> Values | None:
        """Give the values of a device's attribute: derived ones come first (KEP-5942)."""
        lists = Feature.LIST_ATTRIBUTES in self._problem.features
        expression = alternative.derived.get(name)
        if expression is None:
            attribute = find_attribute(device.device, device.id.driver, name)
            return None if attribute is None else values_of(attribute, lists=lists)
        try:
            return self._problem.selectors.derive(expression, device)
        except SelectorError as error:
            message = f"derived attribute {name} of device {device.id}: {error}"
            raise ClaimError(ErrorKind.DERIVED_ATTRIBUTE, message) from error

    def _trial(self, number: int) -> PoolTrial:
        trial = self._trials.get(number)
        if trial is None:
            trial = self._trials[number] = self.trial_of(self._problem.pools[number])
        return trial

    def _free(self, number: int, alternative: Alternative) -> int:
        return self._trial(number).free(alternative.claim, admin=alternative.admin)
