"""A place for each pod of a group at the same time, or none: depth first over the pods in order.

Each pod is placed as if those before it were placed already: they are, for trial, and the state is
afterwards what it was before. Where a pod finds no place, the search goes back to the pod before it
and to its next place: another node, another alternative, other devices. Places that differ only in
devices that are alike are one. A budget of steps bounds it, like the search for one pod.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final

import msgspec

from dra_allocator.core.demand import Demand, demand_of
from dra_allocator.core.search.outcome import ClaimError
from dra_allocator.core.state import ClusterState
from dra_allocator.core.where import allowed_nodes
from dra_shared.events.allocations import ClaimAllocated, ClaimUnsatisfiable

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")

Decision = ClaimAllocated | ClaimUnsatisfiable
Attempt = Callable[[Demand], Decision]
Options = Callable[[Demand], Iterator[ClaimAllocated]]
"""All places of a pod as the state is now, the best first. Ends early when the budget is used."""


class Together:
    """The search for a group. `demands`: its pods, as they ask before the first is placed."""

    def __init__(self, state: ClusterState, demands: Sequence[Demand]) -> None:
        self._state = state
        self._demands = demands
        self._kinds = [_kind(state, demand, demands) for demand in demands]
        self._tried: list[ClaimAllocated] = []
        self._marks: list[Hashable] = []
        self._dead: set[Hashable] = set()

    def greedily(self, attempt: Attempt) -> tuple[Decision, ...]:
        """The decisions on one pod after the other, up to the first that is refused."""
        decisions: list[Decision] = []
        for _ in self._demands:
            decision = attempt(self._next())
            decisions.append(decision)
            if not isinstance(decision, ClaimAllocated):
                break
            self._try(decision)
        self._back_to_start()
        return tuple(decisions)

    def exhaustively(self, options: Options) -> tuple[ClaimAllocated, ...] | None:
        """The places of all pods, None if none were found."""
        if self._too_many():
            return None
        stack = [self._places(options)]
        while stack and len(self._tried) < len(self._demands):
            fact = next(stack[-1], None)
            if fact is None:
                self._dead.add(self._so_far())
                stack.pop()
                self._back()
            elif self._try(fact):
                stack.append(self._places(options))
        return self._back_to_start() or None

    def _next(self) -> Demand:
        """What the next pod asks for, as the state is now."""
        uid = self._demands[len(self._tried)].pod.request.pod.uid
        demand = demand_of(self._state.registers, uid)
        assert demand is not None
        return demand

    def _places(self, options: Options) -> Iterator[ClaimAllocated]:
        """The places of the next pod, each kind of place once. Looks at the state when it is used."""
        if len(self._tried) == len(self._demands):
            return
        seen: set[Hashable] = set()
        for fact in options(self._next()):
            mark = _mark(self._state, fact)
            if mark not in seen:
                seen.add(mark)
                yield fact

    def _try(self, fact: ClaimAllocated) -> bool:
        """Places the next pod for trial, unless that is known to lead nowhere."""
        self._marks.append((self._kinds[len(self._tried)], _mark(self._state, fact)))
        if self._so_far() in self._dead:
            self._marks.pop()
            return False
        self._tried.append(fact)
        self._state.try_on(fact)
        return True

    def _back_to_start(self) -> tuple[ClaimAllocated, ...]:
        """What was tried, now that it is undone."""
        tried = tuple(self._tried)
        while self._tried:
            self._back()
        return tried

    def _back(self) -> None:
        if self._tried:
            self._marks.pop()
            self._state.take_off(self._tried.pop())

    def _so_far(self) -> Hashable:
        """What is placed so far; which of several pods that are alike is where does not matter."""
        return frozenset(Counter(self._marks).items())

    def _too_many(self) -> bool:
        """Whether the nodes have too little for all pods of one kind, by their free devices alone."""
        numbers = Counter(self._kinds)
        first = {kind: self._demands[self._kinds.index(kind)] for kind in numbers}
        return any(_exceeds(self._state, first[kind], number) for kind, number in numbers.items())


def _kind(state: ClusterState, demand: Demand, demands: Sequence[Demand]) -> Hashable:
    """Pods of one kind may change places. Those that share a claim may not."""
    shares = any(not demand.uids.isdisjoint(one.uids) for one in demands if one is not demand)
    return (None if shares else state.kind_of(demand)) or demand.pod.request.pod.uid


def _mark(state: ClusterState, fact: ClaimAllocated) -> Hashable:
    """The place of a pod with all that may matter to others: node, requests, what the devices are.

    Twins, whose costs stand behind those of the results, go with the devices.
    """
    return fact.node, tuple(
        (result.request, cost.device.driver, cost.device.pool, _look(state, fact, place, number))
        for place, got in enumerate(fact.claims)
        for number, (result, cost) in enumerate(
            zip(got.allocation.devices.results or (), got.costs, strict=False)
        )
    )


def _look(state: ClusterState, fact: ClaimAllocated, claim: int, number: int) -> Hashable:
    """What the device is, apart from its name; the name where shares make it unlike any other."""
    cost = fact.claims[claim].costs[number]
    known = state.pools.device(cost.device)
    if known is None or known.shareable or cost.share_id is not None:
        return cost.device.device
    where = (known.slice.spec.node_name, known.slice.spec.node_selector)
    return _ENCODER.encode((msgspec.structs.replace(known.device, name=""), where))


def _exceeds(state: ClusterState, demand: Demand, number: int) -> bool:
    """Whether so many pods that ask for this are too many; one is, if no node can help it."""
    try:
        needs = state.kinds.plan_of(demand).needs
    except ClaimError:
        return True
    allowed = allowed_nodes(state.nodes, state.registers, demand, state.kinds.of(demand).fit)
    for wanted in needs:
        if wanted.admin or wanted.count is None:
            continue
        counts, room, times = state.counts.of(wanted.shape), 0, 1
        while room < number and (nodes := counts.with_at_least(times * wanted.count) & allowed):
            room += nodes.bit_count()
            times += 1
        if room < number and not _has_shareable(state, counts.with_at_least(1) & allowed):
            return True
    return False


def _has_shareable(state: ClusterState, nodes: int) -> bool:
    """Whether one device may serve several pods there, so that devices cannot be counted."""
    return any(
        device.shareable
        for name in state.nodes.named(nodes)
        for pool in state.pools.pools_of(state.nodes.view(name))
        for device in pool.devices
    )
