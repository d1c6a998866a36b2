"""Invariant I1 on a log: no device twice, no capacity and no counter beyond what there is.

An independent count, kept apart from the search: it adds up the frozen costs and compares them with
the slices of the moment, and decides nothing.
"""

from collections.abc import Iterator, Sequence

from dra_allocator.core.fold.registers import PoolKey
from dra_allocator.core.search.devices import CounterName
from dra_allocator.core.search.in_use import counters_of
from dra_allocator.core.state import ClusterState
from dra_shared.events.allocations import (
    AllocationAdopted,
    AllocationFact,
    ClaimAllocated,
    ClaimReleased,
    Cost,
)
from dra_shared.ids import DeviceId
from dra_shared.quantity import parse_quantity


class Ledger:
    """Who holds what, by claim and by device.

    Of a card that several drivers publish, many may hold parts through one driver; then nobody holds
    it through another, whatever stands there for it.
    """

    def __init__(self) -> None:
        self._by_claim: dict[str, tuple[Cost, ...]] = {}
        self._by_pool: dict[PoolKey, dict[DeviceId, list[Cost]]] = {}

    def check(self, state: ClusterState, fact: AllocationFact) -> Iterator[str]:
        """Books a fact and says what it breaks. What an adoption names as conflict is no news."""
        match fact:
            case ClaimAllocated():
                for got in fact.claims:
                    yield from self._take(state, got.claim.uid, got.costs, ())
            case AllocationAdopted():
                yield from self._take(state, fact.claim.uid, fact.costs, fact.conflicts)
            case ClaimReleased():
                self._give_back(fact.claim.uid)
            case _:
                pass

    def _take(
        self,
        state: ClusterState,
        claim: str,
        costs: tuple[Cost, ...],
        excused: tuple[DeviceId, ...],
    ) -> Iterator[str]:
        self._give_back(claim)
        self._by_claim[claim] = costs
        for cost in costs:
            if not cost.admin:
                self._holders(cost.device).append(cost)
        for device in dict.fromkeys(cost.device for cost in costs if not cost.admin):
            if device not in excused:
                yield from self._faults_of(state, device)

    def _give_back(self, claim: str) -> None:
        for cost in self._by_claim.pop(claim, ()):
            if not cost.admin:
                self._holders(cost.device).remove(cost)

    def _faults_of(self, state: ClusterState, device: DeviceId) -> Iterator[str]:
        holders = self._holders(device)
        whole = [cost for cost in holders if cost.share_id is None]
        if len(holders) > 1 and whole and any(cost.card_of is None for cost in holders):
            yield f"device {device} is held {len(holders)} times"
        known = state.pools.device(device)
        for name, capacity in known.capacities.items() if known else ():
            used = sum(parse_quantity(cost.capacity.get(name, "0")).nanos for cost in holders)
            if used > capacity.value.nanos and any(cost.share_id for cost in holders):
                yield f"shares of {device} take more {name} than its {capacity.value}"
        yield from self._overdrawn(state, device, holders)

    def _overdrawn(
        self, state: ClusterState, device: DeviceId, holders: Sequence[Cost]
    ) -> Iterator[str]:
        key = (device.driver, device.pool)
        available = state.pools.counters(key)
        for counter in {name for cost in holders for name, _ in counters_of(cost)}:
            used = sum(_most(costs, counter) for costs in self._by_pool[key].values())
            if counter in available and used > available[counter]:
                yield f"counter {counter} of {device.driver}/{device.pool} is overdrawn"

    def _holders(self, device: DeviceId) -> list[Cost]:
        pool = self._by_pool.setdefault((device.driver, device.pool), {})
        return pool.setdefault(device, [])


def _most(costs: Sequence[Cost], counter: CounterName) -> int:
    """What a device draws from a counter: once, however many share it."""
    drawn = (amount for cost in costs for name, amount in counters_of(cost) if name == counter)
    return max(drawn, default=0)
