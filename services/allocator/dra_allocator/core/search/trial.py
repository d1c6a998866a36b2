"""What a search has taken so far, on top of what is in use: it can be taken and given back.

Never changes what is in use. One `PoolTrial` per pool, made when the search first gets there.
"""

import msgspec

from dra_allocator.core.search.devices import CounterName, PoolDevice
from dra_allocator.core.search.in_use import DeviceUse, PoolUse
from dra_allocator.core.search.pools import Pool
from dra_shared.quantity import Quantity

NOTHING = DeviceUse()


class Taken(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What one device was taken for, enough to give it back."""

    place: int
    claim: int
    admin: bool
    consumed: dict[str, Quantity]
    charged: dict[CounterName, int]
    groups: dict[str, frozenset[str]]


class PoolTrial:
    """One pool during a search."""

    def __init__(self, pool: Pool, use: PoolUse, claims: int) -> None:
        self.pool = pool
        self._use = use
        self._by_claim = [0] * claims
        """Devices that a claim has as a whole or for admin access: it must not get them twice."""
        self.busy = _busy(pool, use)
        """Devices that only admin access can have."""
        self._shares: dict[int, int] = {}
        self._consumed: dict[int, dict[str, int]] = {}
        self._left = {
            name: amount - use.counters.get(name, 0) for name, amount in pool.counters.items()
        }
        self._overdrawn = any(left < 0 for left in self._left.values())
        self._groups = use.groups()

    def free(self, claim: int, *, admin: bool) -> int:
        """Give the devices that a request of the claim may look at, as a mask."""
        everything = (1 << len(self.pool.devices)) - 1
        return everything & ~self._by_claim[claim] & (~0 if admin else ~self.busy)

    def has_capacity(self, place: int, consumed: dict[str, Quantity]) -> bool:
        """Say whether a share that takes this much still fits (KEP-5075)."""
        held = self._held(place).capacity
        taken = self._consumed.get(place, {})
        capacities = self.pool.devices[place].capacities
        return all(
            held.get(name, 0) + taken.get(name, 0) + amount.nanos <= capacities[name].value.nanos
            for name, amount in consumed.items()
        )

    def is_available(self, place: int) -> bool:
        """Say whether counters and compatibility groups let a device, or a share of it, be taken."""
        return self._charge(place) is not None and self._goes_with_others(place)

    def take(self, place: int, claim: int, consumed: dict[str, Quantity], *, admin: bool) -> Taken:
        """Take an available device, or a share of it; admin access takes nothing (KEP-5018)."""
        taken = Taken(
            place=place,
            claim=claim,
            admin=admin,
            consumed=consumed,
            charged={} if admin else self._charge(place) or {},
            groups=self._groups,
        )
        device = self.pool.devices[place]
        if not device.shareable:
            self._by_claim[claim] |= 1 << place
            self.busy |= 0 if admin else 1 << place
        if not admin:
            self._count(taken, 1)
            if device.groups:
                self._groups = self._groups | self._common_groups(device)
        return taken

    def give_back(self, taken: Taken) -> None:
        """Undo the latest taking that was not undone."""
        bit = 1 << taken.place
        self._groups = taken.groups
        if not self.pool.devices[taken.place].shareable:
            self._by_claim[taken.claim] &= ~bit
            self.busy &= ~0 if taken.admin else ~bit
        if not taken.admin:
            self._count(taken, -1)

    def _count(self, taken: Taken, sign: int) -> None:
        place = taken.place
        for name, amount in taken.charged.items():
            self._left[name] -= sign * amount
        if not self.pool.devices[place].shareable:
            return
        self._shares[place] = self._shares.get(place, 0) + sign
        consumed = self._consumed.setdefault(place, {})
        for name, quantity in taken.consumed.items():
            consumed[name] = consumed.get(name, 0) + sign * quantity.nanos

    def _charge(self, place: int) -> dict[CounterName, int] | None:
        """Give the counters that taking the device would charge; None if they do not suffice.

        A shareable device pays once for all its shares. A counter that is already overdrawn
        blocks all devices of the pool that consume counters (KEP-4815).
        """
        wanted = self.pool.devices[place].counters
        if not wanted or self._shares.get(place):
            return {}
        paid = self._held(place).counters
        charge = {name: max(0, n - paid.get(name, 0)) for name, n in wanted.items()}
        if paid and not any(charge.values()):
            return {}
        if self._overdrawn or any(self._left[name] < n for name, n in charge.items()):
            return None
        return charge

    def _goes_with_others(self, place: int) -> bool:
        """Say whether the device may stand beside what its counter sets hold (KEP-5729)."""
        return all(self._common_groups(self.pool.devices[place]).values())

    def _common_groups(self, device: PoolDevice) -> dict[str, frozenset[str]]:
        return {
            counter_set: self._groups.get(counter_set, groups) & groups
            for counter_set, groups in device.groups.items()
        }

    def _held(self, place: int) -> DeviceUse:
        return self._use.devices.get(self.pool.devices[place].id.device, NOTHING)


def _busy(pool: Pool, use: PoolUse) -> int:
    """Give the devices that are held whole, or held in shares although they are not shareable now."""
    busy = 0
    for name, held in use.devices.items():
        place = pool.index.get(name)
        if place is not None and (held.whole or not pool.devices[place].shareable):
            busy |= 1 << place
    return busy
