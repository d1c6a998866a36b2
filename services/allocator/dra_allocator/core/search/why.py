"""Why a search found nothing: one reason for each device that the node sees, counted.

Worked out after a failed search, so that the search stays lean. A device shows the reason of the
request that it came closest to; one that is free and fits was either not enough or kept out by a
constraint.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from dra_allocator.core.search.attributes import find_attribute
from dra_allocator.core.search.candidates import judge
from dra_allocator.core.search.constraints import Constraint
from dra_allocator.core.search.devices import CounterName
from dra_allocator.core.search.outcome import Explanation
from dra_allocator.core.search.plan import Alternative, PlannedClaim, Problem, plan_claims
from dra_allocator.core.search.pools import Pool, PoolFault
from dra_allocator.core.search.trial import PoolTrial
from dra_allocator.core.search.twins import held_twins
from dra_shared.events.allocations import Reason, ReasonKind
from dra_shared.ids import DeviceId

CLOSENESS: Final = (
    ReasonKind.UNSUPPORTED,
    ReasonKind.SELECTOR_FALSE,
    ReasonKind.NODE_UNFIT,
    ReasonKind.SELECTOR_ERROR,
    ReasonKind.CAPACITY,
    ReasonKind.TAINTED,
    ReasonKind.IN_USE,
    ReasonKind.COUNTERS,
    ReasonKind.NOT_ENOUGH,
    ReasonKind.CONSTRAINT,
)
"""From far away to almost taken."""


ONE_CARD: Final = "one card with a device of another driver"
"""Against a device that would do, but not together with its twins."""


class Why(NamedTuple):
    """Why a device was not taken."""

    kind: ReasonKind
    detail: str = ""


_Seen = tuple[Alternative, Why | None]
"""A request, and why a device alone cannot serve it."""


def explain(problem: Problem, planned: tuple[PlannedClaim, ...] | None = None) -> Explanation:
    """Give the reasons why there is no solution; their counts sum to the devices looked at.

    Raises ClaimError for claims that no node can satisfy as they are written.
    """
    found = _Devices(problem, plan_claims(problem) if planned is None else planned)
    counts = Counter(found.reasons())
    return Explanation(
        reasons=tuple(
            Reason(kind=why.kind, detail=why.detail, devices=count)
            for why, count in sorted(counts.items())
        ),
        devices=counts.total(),
    )


class _Devices:
    """The node's devices, each against all that is asked for."""

    def __init__(self, problem: Problem, planned: tuple[PlannedClaim, ...]) -> None:
        self._problem = problem
        self._planned = planned
        self._wanted = [
            one for claim in planned for request in claim.requests for one in request.alternatives
        ]
        self._free: Counter[Alternative] = Counter()

    def reasons(self) -> Iterator[Why]:
        """Give one reason for each device."""
        looked_at: list[tuple[DeviceId, list[_Seen]]] = []
        for pool in self._problem.pools:
            if pool.fault is None:
                looked_at += self._look_at(pool)
            else:
                yield from [_fault_of(pool)] * len(pool.devices)
        self._free.update(one for _, seen in looked_at for one, why in seen if why is None)
        for device, seen in looked_at:
            whys = [self._left_over(device, one) if why is None else why for one, why in seen]
            yield max(
                whys, key=lambda why: CLOSENESS.index(why.kind), default=Why(ReasonKind.NOT_ENOUGH)
            )

    def _look_at(self, pool: Pool) -> Iterator[tuple[DeviceId, list[_Seen]]]:
        trial = PoolTrial(pool, self._problem.in_use.of(pool.id), len(self._planned))
        for place, device in enumerate(pool.devices):
            yield device.id, [(one, self._why_not(trial, place, one)) for one in self._wanted]

    def _why_not(self, trial: PoolTrial, place: int, wanted: Alternative) -> Why | None:
        """Say why the device alone cannot serve the request, None if it can."""
        device = trial.pool.devices[place].id
        verdict = judge(trial.pool, place, wanted.shape, self._problem.selectors)
        if verdict.reason is not None:
            return Why(verdict.reason, verdict.detail)
        if not trial.free(wanted.claim, admin=wanted.admin) >> place & 1:
            return Why(ReasonKind.IN_USE, self._through(device))
        if short := trial.lacks_capacity(place, verdict.consumed or {}, admin=wanted.admin):
            return Why(ReasonKind.CAPACITY, f"too little left: {', '.join(short)}")
        if counters := trial.lacks_counters(place, admin=wanted.admin):
            return Why(ReasonKind.COUNTERS, _spent(trial, counters[0]))
        if sets := trial.clashes(place, admin=wanted.admin):
            return Why(ReasonKind.COUNTERS, f"{sets[0]} is used by an incompatible group")
        if not wanted.admin and (held := self._held_card(device)):
            return Why(ReasonKind.IN_USE, held)
        return self._missing_attribute(trial, place, wanted)

    def _through(self, device: DeviceId) -> str:
        """Say how a device is held that nobody has for its own sake."""
        holders = self._problem.in_use.holders(device)
        drivers = {cost.card_of.driver if cost.card_of else "" for cost in holders}
        return _its_card(min(drivers, default=""))

    def _held_card(self, device: DeviceId) -> str:
        """Say how the card of a free device is held; empty if it is not."""
        twins = held_twins(device, self._problem.twins, self._problem.in_use)
        return _its_card(min((twin.driver for twin in twins), default=""))

    def _missing_attribute(self, trial: PoolTrial, place: int, wanted: Alternative) -> Why | None:
        device = trial.pool.devices[place]
        for constraint in self._constraints(wanted):
            name = constraint.attribute
            derived = name in wanted.derived
            if not derived and find_attribute(device.device, device.id.driver, name) is None:
                return Why(ReasonKind.CONSTRAINT, f"has no {name}")
        return None

    def _left_over(self, device: DeviceId, wanted: Alternative) -> Why:
        """Say why a device that could serve the request alone was not taken."""
        against = sorted({constraint.attribute for constraint in self._constraints(wanted)})
        if device in self._problem.twins and not wanted.admin:
            against.append(ONE_CARD)
        if against and self._free[wanted] >= (wanted.count or 0):
            return Why(ReasonKind.CONSTRAINT, ", ".join(against))
        return Why(ReasonKind.NOT_ENOUGH)

    def _constraints(self, wanted: Alternative) -> Iterator[Constraint]:
        constraints = self._planned[wanted.claim].constraints
        return (constraints[number] for number in wanted.constraints)


def _its_card(driver: str) -> str:
    return f"its card, through {driver}" if driver else ""


def _fault_of(pool: Pool) -> Why:
    incomplete = pool.fault is PoolFault.INCOMPLETE
    kind = ReasonKind.POOL_INCOMPLETE if incomplete else ReasonKind.POOL_INVALID
    return Why(kind, f"{pool.id}: {pool.fault_detail}")


def _spent(trial: PoolTrial, counter: CounterName) -> str:
    """Name a counter and the first device that holds some of it."""
    holder = trial.holder_of(counter)
    return f"{counter} used by {holder}" if holder else str(counter)
