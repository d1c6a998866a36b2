"""What allocations hold of devices: whole devices, shares, capacity, counters.

All of it comes from the costs that were frozen when each allocation was decided, never from
today's slices: a driver that republishes a device cannot change what was granted (invariant I1).
A search only reads this; it plans in a `trial` of its own.
"""

from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Final

import msgspec

from dra_allocator.core.search.devices import UNGROUPED, CounterName
from dra_shared.events.allocations import Cost
from dra_shared.ids import DeviceId
from dra_shared.quantity import parse_quantity

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
_NO_COUNTERS: Final[Mapping[CounterName, int]] = MappingProxyType({})


class UnknownCostError(Exception):
    """Something is given back that was never taken: a fault of ours, not of the cluster."""

    def __init__(self, cost: Cost) -> None:
        super().__init__(f"{cost.device} is given back, but nothing holds it so: {cost}")


class DeviceUse(msgspec.Struct, eq=False):
    """What holds one device. Its counters are charged once, however many shares there are."""

    costs: list[Cost]
    whole: bool = False
    capacity: Mapping[str, int] = _NOTHING
    counters: Mapping[CounterName, int] = _NO_COUNTERS

    def add(self, cost: Cost) -> None:
        """Count one more holder."""
        self.costs.append(cost)
        if cost.share_id is None:
            self.whole = True
        if cost.capacity:
            self.capacity = _sum(self.capacity, cost)
        if cost.counters:
            self.counters = _most(self.counters, cost)

    def remove(self, cost: Cost) -> None:
        """Count one holder less. Raises UnknownCostError."""
        if cost not in self.costs:
            raise UnknownCostError(cost)
        others = self.costs
        others.remove(cost)
        self.costs, self.whole = [], False
        self.capacity, self.counters = _NOTHING, _NO_COUNTERS
        for other in others:
            self.add(other)

    def groups(self) -> Iterable[tuple[str, frozenset[str]]]:
        """Give the compatibility groups per counter set that it draws from, for each holder."""
        for cost in self.costs:
            for counter_set in cost.counters:
                named = cost.compatibility_groups.get(counter_set)
                yield counter_set, frozenset(named) if named else UNGROUPED


class PoolUse:
    """What is held of one pool, by device name, and the counters that this takes together.

    `left` is what others worked out from this alone; whenever this changes it is forgotten. `cards`:
    how often a device is held only since it is one card with another. `grouped`: holders that name
    compatibility groups.
    """

    __slots__ = ("cards", "counters", "devices", "grouped", "left")

    def __init__(self) -> None:
        self.devices: dict[str, DeviceUse] = {}
        self.counters: dict[CounterName, int] = {}
        self.left: dict[Hashable, int] = {}
        self.cards = 0
        self.grouped = 0

    def add(self, cost: Cost) -> None:
        """Count one more holder of a device."""
        self.left.clear()
        name = cost.device.device
        use = self.devices.get(name)
        if use is None:
            use = self.devices[name] = DeviceUse([])
        elif use.counters:
            self._charge(use.counters, -1)
        use.add(cost)
        if use.counters:
            self._charge(use.counters, 1)
        if cost.card_of is not None:
            self.cards += 1
        if cost.compatibility_groups:
            self.grouped += 1

    def remove(self, cost: Cost) -> None:
        """Count one holder less. Raises UnknownCostError."""
        self.left.clear()
        name = cost.device.device
        use = self.devices.get(name)
        if use is None:
            raise UnknownCostError(cost)
        self._charge(use.counters, -1)
        use.remove(cost)
        self._charge(use.counters, 1)
        if cost.card_of is not None:
            self.cards -= 1
        if cost.compatibility_groups:
            self.grouped -= 1
        if not use.costs:
            del self.devices[name]

    def groups(self) -> dict[str, frozenset[str]]:
        """Give what the compatibility groups of all holders have in common, per counter set."""
        common: dict[str, frozenset[str]] = {}
        for use in self.devices.values():
            for counter_set, groups in use.groups():
                common[counter_set] = common.get(counter_set, groups) & groups
        return common

    def likeness(self) -> Hashable:
        """Give all that a search sees of it, and that a refusal says of it, as a key."""
        seen = frozenset(
            (
                name,
                device.whole,
                len(device.costs),
                frozenset(device.capacity.items()),
                frozenset(device.counters.items()),
                frozenset(device.groups()),
            )
            for name, device in self.devices.items()
        )
        return (seen, self._through()) if self.cards else seen

    def _through(self) -> Hashable:
        """Give the drivers through which each device is held, itself or as one card with others."""
        return frozenset(
            (name, cost.card_of and cost.card_of.driver)
            for name, device in self.devices.items()
            for cost in device.costs
        )

    def _charge(self, counters: Mapping[CounterName, int], sign: int) -> None:
        for counter, amount in counters.items():
            total = self.counters.get(counter, 0) + sign * amount
            if total:
                self.counters[counter] = total
            else:
                self.counters.pop(counter, None)


UNUSED: Final = PoolUse()
"""A pool of which nothing is held; for reading."""


class InUse:
    """What is held in all pools. Changed only by `add` and `remove`, in any order."""

    def __init__(self, costs: Iterable[Cost] = ()) -> None:
        self._pools: dict[tuple[str, str], PoolUse] = {}
        self._unread: dict[tuple[str, str], list[Cost]] = {}
        self._unsorted: Iterable[Cost] = costs
        self._sort()

    def fill(self, costs: Iterable[Cost]) -> None:
        """Count many holders at once: they are looked at when somebody asks, pool by pool."""
        self._unsorted = chain(self._unsorted, costs)

    def hold(self, costs: Iterable[Cost]) -> Iterable[tuple[str, str]]:
        """Count what the results of an allocation take; admin access takes nothing.

        Gives the pools of the devices, by driver and name.
        """
        pools: dict[tuple[str, str], PoolUse | None] = {}
        for cost in costs:
            key = (cost.device.driver, cost.device.pool)
            pool = pools.get(key)
            if pool is None:
                pool = pools[key] = self._read(key)
            if cost.admin:
                continue
            if pool is None:
                pool = pools[key] = self._pools[key] = PoolUse()
            pool.add(cost)
        return pools

    def give_back(self, costs: Iterable[Cost]) -> Iterable[tuple[str, str]]:
        """Take back what `hold` counted, and give the pools as it does. Raises UnknownCostError."""
        pools: dict[tuple[str, str], PoolUse | None] = {}
        for cost in costs:
            key = (cost.device.driver, cost.device.pool)
            pool = pools[key] = self._read(key)
            if cost.admin:
                continue
            if pool is None:
                raise UnknownCostError(cost)
            pool.remove(cost)
            if not pool.devices:
                del self._pools[key]
        return pools

    def of(self, pool: tuple[str, str]) -> PoolUse:
        """Give what is held of one pool; for reading."""
        if self._unread or self._unsorted:
            return self._read(pool) or UNUSED
        return self._pools.get(pool, UNUSED)

    def holders(self, device: DeviceId) -> tuple[Cost, ...]:
        """Give what holds this device."""
        use = self.of(_pool(device)).devices.get(device.device)
        return tuple(use.costs) if use else ()

    def costs(self) -> Iterable[Cost]:
        """Give all that was added and not removed, ordered by pool."""
        self._sort()
        for id_ in tuple(self._unread):
            self._read(id_)
        for _, pool in sorted(self._pools.items(), key=lambda item: item[0]):
            for _, use in sorted(pool.devices.items()):
                yield from use.costs

    def _sort(self) -> None:
        costs, self._unsorted, unread = self._unsorted, (), self._unread
        for cost in costs:
            if not cost.admin:
                unread.setdefault(_pool(cost.device), []).append(cost)

    def _read(self, pool: tuple[str, str]) -> PoolUse | None:
        if self._unsorted:
            self._sort()
        if self._unread and pool in self._unread:
            use = self._pools.setdefault(pool, PoolUse())
            for cost in self._unread.pop(pool):
                use.add(cost)
        return self._pools.get(pool)

    def copy(self) -> "InUse":
        """Give an independent copy."""
        return InUse(self.costs())


def _sum(capacity: Mapping[str, int], cost: Cost) -> Mapping[str, int]:
    """What holders take together of each capacity, with one more of them."""
    summed = dict(capacity)
    for name, text in cost.capacity.items():
        summed[name] = summed.get(name, 0) + parse_quantity(text).nanos
    return summed


def _most(counters: Mapping[CounterName, int], cost: Cost) -> Mapping[CounterName, int]:
    """What holders are charged together of each counter, with one more of them: once for all."""
    if not counters:
        return dict(counters_of(cost))
    charged = dict(counters)
    for counter, amount in counters_of(cost):
        charged[counter] = max(charged.get(counter, 0), amount)
    return charged


def counters_of(cost: Cost) -> Iterable[tuple[CounterName, int]]:
    """Give the counters of a cost in nano units."""
    for counter_set, counters in cost.counters.items():
        for name, text in counters.items():
            yield _counter(counter_set, name), parse_quantity(text).nanos


@lru_cache(maxsize=4096)
def _counter(counter_set: str, name: str) -> CounterName:
    return CounterName(counter_set, name)


def _pool(device: DeviceId) -> tuple[str, str]:
    """The key of the device's pool: equal to its PoolId, and cheaper to make."""
    return device.driver, device.pool
