"""Known faults of Kubernetes' allocator, put back one by one.

They exist only to recognise deliberate differences: an answer differs on purpose if, and only if,
our search with such a fault gives exactly the answer of Kubernetes. docs/differences.md says what
each fault is and why we do not have it.
"""

from typing import Final

from dra_allocator.core.search.devices import CounterName
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.search import Search
from dra_allocator.core.search.trial import PoolTrial


class ChargedAdmin(PoolTrial):
    """Admin access takes a share, consumes capacity and counters, and keeps others away."""

    def pays(self, *, admin: bool) -> bool:
        del admin
        return True

    def _charge(self, place: int) -> dict[CounterName, int]:
        """Charge what the device's holder has paid once more."""
        device = self.pool.devices[place]
        use = self._held(place)
        if device.shareable and (self._shares.get(place) or (use.costs and not use.whole)):
            return {}
        return dict(device.counters)


class ForgottenShare(PoolTrial):
    """A device held in shares that is shareable no more counts as free if no capacity is recorded."""

    def _held_mask(self) -> int:
        held = 0
        for name, use in self._use.devices.items():
            place = self.pool.index.get(name)
            if place is None or not (use.whole or use.capacity):
                continue
            if use.whole or not self.pool.devices[place].shareable:
                held |= 1 << place
        return held


class ChargedAdminForgottenShare(ChargedAdmin, ForgottenShare):
    """Both at once."""


class _ChargedAdmin(Search):
    def trial_of(self, pool: Pool) -> PoolTrial:
        return ChargedAdmin(pool, self._problem.in_use.of(pool.id), len(self._planned))


class _ForgottenShare(Search):
    def trial_of(self, pool: Pool) -> PoolTrial:
        return ForgottenShare(pool, self._problem.in_use.of(pool.id), len(self._planned))


class _Both(Search):
    def trial_of(self, pool: Pool) -> PoolTrial:
        return ChargedAdminForgottenShare(
            pool, self._problem.in_use.of(pool.id), len(self._planned)
        )


FAULTS: Final[dict[str, type[Search]]] = {
    "admin access is charged": _ChargedAdmin,
    "a share without recorded capacity is forgotten": _ForgottenShare,
    "both of these": _Both,
}
"""Searches with upstream's faults, each under the heading that explains it."""
