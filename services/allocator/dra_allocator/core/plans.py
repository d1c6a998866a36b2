"""What claims ask for, read once for all claims that ask for the same."""

from collections.abc import Callable
from typing import Final

import msgspec

from dra_allocator.core.demand import Demand
from dra_allocator.core.plain import Configuration, PlainRequest, read_plain
from dra_allocator.core.preference import Ranks, choices_in
from dra_allocator.core.search.outcome import ClaimError
from dra_allocator.core.search.plan import (
    Alternative,
    PlannedClaim,
    Problem,
    locate_all,
    plan_claims,
)
from dra_shared.kube.claims import ResourceClaim

MOST_PLANS: Final = 1024
"""Plans remembered; beyond that the oldest is forgotten and made again when needed."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class Plan(msgspec.Struct, kw_only=True, eq=False):
    """Claims made ready to be searched for, under numbers instead of their names.

    `needs`: what any node must have. `plain`: the whole demand if it is that simple, with the
    configuration that goes with its devices as soon as a search has found it.
    """

    planned: tuple[PlannedClaim, ...]
    needs: tuple[Alternative, ...]
    choices: Ranks
    plain: PlainRequest | None
    configuration: Configuration = None
    configured: bool = False


class PlanBook:
    """Plans by what is asked for. `problem` gives a problem without node and pools."""

    def __init__(self, problem: Callable[[tuple[ResourceClaim, ...]], Problem]) -> None:
        self._problem = problem
        self._plans: dict[bytes, Plan] = {}

    def plan_of(self, demand: Demand) -> Plan:
        """The plan of a pod's open claims. Raises ClaimError for what no node can satisfy."""
        key = _ENCODER.encode([one.spec for one in demand.open])
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            plan = self._plans[key] = self._make(demand)
        return plan

    def forget(self) -> None:
        """Classes or features changed: all plans are made again."""
        self._plans.clear()

    def _make(self, demand: Demand) -> Plan:
        claims = demand.numbered()
        try:
            planned = self._read(claims)
        except ClaimError:
            planned = self._read(demand.named())  # raises again, with the claim's name
        return Plan(
            planned=planned,
            needs=tuple(
                request.alternatives[0]
                for claim in planned
                for request in claim.requests
                if not request.chooses
            ),
            choices=choices_in(claims),
            plain=read_plain(planned),
        )

    def _read(self, claims: tuple[ResourceClaim, ...]) -> tuple[PlannedClaim, ...]:
        problem = self._problem(claims)
        planned = plan_claims(problem)
        locate_all(problem, planned)
        return planned
