"""What a search has taken so far, on top of what is in use: it can be taken and given back.

Never changes what is in use. One `PoolTrial` per pool, made when the search first gets there.
"""

import msgspec

from dra_allocator.core.search.capacity import lacking
from dra_allocator.core.search.devices import CounterName
from dra_allocator.core.search.in_use import DeviceUse, PoolUse
from dra_allocator.core.search.pools import Pool
from dra_shared.quantity import Quantity

NOTHING = DeviceUse([])


class Taken(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What was taken of one device, and how its pool stood before."""

    place: int
    claim: int
    consumed: dict[str, Quantity]
    charged: dict[CounterName, int]
    shares: int
    busy_before: int
    mine_before: int
    groups_before: dict[str, frozenset[str]]


class PoolTrial:
    """One pool during a search.

    `busy`: devices that only admin access can have, as a mask. `_mine`: per claim, devices that it
    has whole or for admin access, which it must not get twice.
    """

    def __init__(self, pool: Pool, use: PoolUse, claims: int) -> None:
        self.pool = pool
        self._use = use
        self._mine = [0] * claims
        self._busy = self._held_mask()
        self._shares: dict[int, int] = {}
        self._consumed: dict[int, dict[str, int]] = {}
        self._left = {
            name: amount - use.counters.get(name, 0) for name, amount in pool.counters.items()
        }
        self._overdrawn = [name for name, left in self._left.items() if left < 0]
        self._groups = use.groups()

    def pays(self, *, admin: bool) -> bool:
        """Say whether taking a device costs anything: admin access takes nothing (KEP-5018)."""
        return not admin

    def free(self, claim: int, *, admin: bool) -> int:
        """Give the devices that a request of the claim may look at, as a mask."""
        everything = (1 << len(self.pool.devices)) - 1
        return everything & ~self._mine[claim] & (~0 if admin else ~self._busy)

    def lacks_capacity(
        self, place: int, consumed: dict[str, Quantity], *, admin: bool
    ) -> list[str]:
        """Give the capacities of which too little is left for a share that takes this much (KEP-5075)."""
        if not consumed or not self.pays(admin=admin):
            return []
        held, taken = self._held(place).capacity, self._consumed.get(place, {})
        return lacking(self.pool.devices[place].capacities, consumed, held, taken)

    def lacks_counters(self, place: int, *, admin: bool) -> list[CounterName]:
        """Give the counters of which too little is left for a device, or a share of it.

        A counter that is already overdrawn blocks all devices of the pool that consume counters
        (KEP-4815).
        """
        if not self.pool.devices[place].counters or not self.pays(admin=admin):
            return []
        charge = self._charge(place)
        if not any(charge.values()):
            return []
        return self._overdrawn or [name for name, n in charge.items() if self._left[name] < n]

    def clashes(self, place: int, *, admin: bool) -> list[str]:
        """Give the counter sets that hold devices with which this one does not go (KEP-5729)."""
        if not self.pool.devices[place].groups or not self.pays(admin=admin):
            return []
        return [name for name, groups in self._common_groups(place).items() if not groups]

    def is_available(self, place: int, *, admin: bool) -> bool:
        """Say whether counters and compatibility groups let a device, or a share of it, be taken."""
        return not self.lacks_counters(place, admin=admin) and not self.clashes(place, admin=admin)

    def holder_of(self, counter: CounterName) -> str:
        """Give the first device in use that draws from a counter; empty if there is none."""
        holders = (name for name, use in self._use.devices.items() if counter in use.counters)
        return min(holders, default="")

    def take(self, place: int, claim: int, consumed: dict[str, Quantity], *, admin: bool) -> Taken:
        """Take an available device, or a share of it."""
        pays = self.pays(admin=admin)
        whole = not self.pool.devices[place].shareable
        taken = Taken(
            place=place,
            claim=claim,
            consumed=consumed if pays else {},
            charged=self._charge(place) if pays else {},
            shares=1 if pays and not whole else 0,
            busy_before=self._busy,
            mine_before=self._mine[claim],
            groups_before=self._groups,
        )
        self._count(taken, 1)
        if whole:
            self._mine[claim] |= 1 << place
        if pays:
            self._busy |= (1 << place) if whole else 0
            self._groups = self._groups | self._common_groups(place)
        return taken

    def give_back(self, taken: Taken) -> None:
        """Undo the latest taking that was not undone."""
        self._count(taken, -1)
        self._busy = taken.busy_before
        self._mine[taken.claim] = taken.mine_before
        self._groups = taken.groups_before

    def _count(self, taken: Taken, sign: int) -> None:
        for counter, amount in taken.charged.items():
            self._left[counter] -= sign * amount
        if not taken.shares:
            return
        self._shares[taken.place] = self._shares.get(taken.place, 0) + sign
        consumed = self._consumed.setdefault(taken.place, {})
        for name, quantity in taken.consumed.items():
            consumed[name] = consumed.get(name, 0) + sign * quantity.nanos

    def _charge(self, place: int) -> dict[CounterName, int]:
        """Give what taking the device is charged: a shareable one pays once for all its shares."""
        if self._shares.get(place):
            return {}
        paid = self._held(place).counters
        counters = self.pool.devices[place].counters
        return {name: max(0, n - paid.get(name, 0)) for name, n in counters.items()}

    def _common_groups(self, place: int) -> dict[str, frozenset[str]]:
        """Give what the device's compatibility groups share with what its counter sets hold (KEP-5729)."""
        return {
            counter_set: self._groups.get(counter_set, groups) & groups
            for counter_set, groups in self.pool.devices[place].groups.items()
        }

    def _held(self, place: int) -> DeviceUse:
        return self._use.devices.get(self.pool.devices[place].id.device, NOTHING)

    def _held_mask(self) -> int:
        """Give the devices held whole, or held in shares although they are not shareable now."""
        held = 0
        for name, use in self._use.devices.items():
            place = self.pool.index.get(name)
            if place is not None and (use.whole or not self.pool.devices[place].shareable):
                held |= 1 << place
        return held
