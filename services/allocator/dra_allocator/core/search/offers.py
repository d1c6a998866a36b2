"""What the pools of a node have for a request at this point of a search.

Candidates come from the pools, what is left of them from the trials. The order is that in which
devices are tried.
"""

from collections.abc import Callable, Iterator

from dra_allocator.core.search.candidates import candidates
from dra_allocator.core.search.plan import Alternative, Place, Problem
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.shapes import Candidates
from dra_allocator.core.search.trial import PoolTrial

FIRST = Place(0, 0)


class Offers:
    """All pools of a problem, each with its trial, made when it is first needed."""

    def __init__(self, problem: Problem, new_trial: Callable[[Pool], PoolTrial]) -> None:
        self._problem = problem
        self._new_trial = new_trial
        self._trials: dict[int, PoolTrial] = {}

    def trial(self, number: int) -> PoolTrial:
        """Give the trial of a pool."""
        trial = self._trials.get(number)
        if trial is None:
            trial = self._trials[number] = self._new_trial(self._problem.pools[number])
        return trial

    def candidates(self, number: int, wanted: Alternative) -> Candidates:
        """Give the candidates of a pool, whatever is left of them."""
        return candidates(self._problem.pools[number], wanted.shape, self._problem.selectors)

    def is_free(self, place: Place, wanted: Alternative) -> bool:
        """Say whether the device is a candidate that nobody has, as far as whole devices go."""
        free = self.trial(place.pool).free(wanted.claim, admin=wanted.admin)
        return bool((self.candidates(place.pool, wanted).usable & free) >> place.device & 1)

    def places(self, wanted: Alternative, start: Place) -> Iterator[Place]:
        """Give the devices to try, in order. Raises ClaimError at one that is an error."""
        for number, mask in self._masks(wanted, start):
            errors = self.candidates(number, wanted).errors
            for device in bits(mask):
                if device in errors:
                    raise errors[device]
                yield Place(number, device)

    def may_suffice(self, wanted: Alternative, start: Place, needed: int) -> bool:
        """Say whether there are so many devices from here on, or an error that must be met first."""
        if self.may_fail(wanted):
            return True
        for _, mask in self._masks(wanted, start):
            needed -= mask.bit_count()
            if needed <= 0:
                return True
        return False

    def may_fail(self, wanted: Alternative) -> bool:
        """Say whether trying devices for the request can be an error."""
        if wanted.constraints and (wanted.count is None or wanted.derived):
            return True
        sound = (n for n, pool in enumerate(self._problem.pools) if pool.fault is None)
        return any(self.candidates(number, wanted).failed for number in sound)

    def _masks(self, wanted: Alternative, start: Place) -> Iterator[tuple[int, int]]:
        """Give per pool the devices to look at from here on."""
        for number in range(start.pool, len(self._problem.pools)):
            if self._problem.pools[number].fault is not None:
                continue
            found = self.candidates(number, wanted)
            mask = (found.usable | found.failed) & self.trial(number).free(
                wanted.claim, admin=wanted.admin
            )
            yield number, mask >> start.device << start.device if number == start.pool else mask


def bits(mask: int) -> Iterator[int]:
    """Give the places of the bits that are set, lowest first."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
