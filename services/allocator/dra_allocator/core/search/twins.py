"""One card that several drivers publish, held for one: who has a device has its twins too.

Twins are devices of different drivers on one card (`cards.py`). Where a policy is strict about them,
what an allocation takes names the twins of each device behind the results' own costs, so that all
who count what is in use see them taken; nothing of that is written to Kubernetes. They are frozen
like all costs: they hold even when the other driver withdraws its pool. What was not known when a
device was given away (a twin published later, an allocation from before the mode was switched on)
is looked up when the twin is asked for.

Admin access takes nothing, here neither.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.outcome import Found, FoundClaim
from dra_allocator.core.search.plan import Place, PlannedClaim, Problem, Twins
from dra_allocator.core.search.results import Chosen
from dra_allocator.core.search.search import Search, Slot
from dra_shared.events.allocations import Cost
from dra_shared.ids import DeviceId


def minding(problem: Problem, twins: Twins) -> Problem:
    """The problem with the twins that matter in it."""
    return msgspec.structs.replace(problem, twins=twins) if twins else problem


def searching(problem: Problem, planned: tuple[PlannedClaim, ...]) -> Search:
    """The search for a problem, which minds twins if there are any."""
    return TwinSearch(problem, planned) if problem.twins else Search(problem, planned)


def costs_of_twins(costs: Iterable[Cost], twins: Twins) -> tuple[Cost, ...]:
    """What the results with these costs take besides: each twin once."""
    taken: dict[DeviceId, Cost] = {}
    for cost in costs:
        for twin in twins.get(cost.device, ()) if not cost.admin else ():
            taken.setdefault(twin, Cost(device=twin, card_of=cost.device))
    return tuple(taken.values())


def held_twins(device: DeviceId, twins: Twins, in_use: InUse) -> Iterator[DeviceId]:
    """The twins of a device that somebody has for their own sake."""
    for twin in twins.get(device, ()):
        if any(cost.card_of is None for cost in in_use.holders(twin)):
            yield twin


class TwinSearch(Search):
    """A search that takes no device whose twin is held, or is taken by the same pod."""

    def _choose(self, slot: Slot, place: Place) -> Chosen | None:
        chosen = super()._choose(slot, place)
        if chosen is None or chosen.alternative.admin or self._is_had(chosen.device.id):
            return chosen
        self._offers.trial(place.pool).give_back(chosen.taken)
        return None

    def _is_had(self, device: DeviceId) -> bool:
        """Say whether the device's card is to be had through this device."""
        twins = self._problem.twins.get(device)
        if not twins:
            return True
        if any(held_twins(device, self._problem.twins, self._problem.in_use)):
            return False
        return not any(one.device.id in twins and not one.alternative.admin for one in self._chosen)

    def _found(self, share_id: Callable[[int], str]) -> Found:
        found = super()._found(share_id)
        claims = tuple(self._with_twins(one) for one in found.claims)
        return msgspec.structs.replace(found, claims=claims)

    def _with_twins(self, claim: FoundClaim) -> FoundClaim:
        more = costs_of_twins(claim.costs, self._problem.twins)
        return msgspec.structs.replace(claim, costs=(*claim.costs, *more)) if more else claim
