"""What pods ask for, read once for all pods that ask for the same.

The key of a kind is worked out when a pod begins to wait, so that deciding need not.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from dra_allocator.core.books.node_book import FitIndex, NodeBook
from dra_allocator.core.demand import Demand
from dra_allocator.core.fold.registers import PendingPod
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
from dra_allocator.core.size import may_be_too_large
from dra_shared.events.claims import ClaimRequested
from dra_shared.kube.claims import ResourceClaim

MOST_KINDS: Final = 1024
"""Kinds remembered; beyond that the oldest is forgotten and read again when needed."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class LastPlace(msgspec.Struct, eq=False):
    """Where the last pod of a kind went: the node that a policy tries first, without a search.

    `free`: devices that the node had for it. Up to `place` in the list of what was touched, no other
    node changed. `turns`: pods that were placed so since the indices were asked last.
    """

    node: str
    policy: str
    free: int
    place: int
    turns: int = 0


class Plan(msgspec.Struct, kw_only=True, eq=False):
    """Claims made ready to be searched for, under numbers instead of their names.

    `needs`: what any node must have. `plain`: the whole demand if it is that simple, with the
    configuration that goes with its devices as soon as a search has found it. `may_be_large`: what
    is given may be too large for the log.
    """

    planned: tuple[PlannedClaim, ...]
    needs: tuple[Alternative, ...]
    choices: Ranks
    plain: PlainRequest | None
    may_be_large: bool
    configuration: Configuration = None
    configured: bool = False
    last: LastPlace | None = None


class Kind(msgspec.Struct, eq=False):
    """What some pods ask for, all the same. `fit`: where such pods could run, devices aside."""

    fit: FitIndex
    plan: Plan | None = None


class _Known(msgspec.Struct, frozen=True, gc=False):
    """What a pod's kind was read from."""

    pod: PendingPod
    open: tuple[ClaimRequested, ...]
    kind: Kind


class KindBook:
    """Kinds by what is asked for. `problem` gives a problem without node and pools."""

    def __init__(
        self, nodes: NodeBook, problem: Callable[[tuple[ResourceClaim, ...]], Problem]
    ) -> None:
        self._nodes = nodes
        self._problem = problem
        self._kinds: dict[bytes, Kind] = {}
        self._by_pod: dict[str, _Known] = {}

    def of(self, demand: Demand) -> Kind:
        """The kind of what a pod asks for now."""
        uid = demand.pod.request.pod.uid
        known = self._by_pod.get(uid)
        if known is not None and known.pod is demand.pod and known.open == demand.open:
            return known.kind
        kind = self._read(demand)
        self._by_pod[uid] = _Known(demand.pod, demand.open, kind)
        return kind

    def plan_of(self, demand: Demand, kind: Kind | None = None) -> Plan:
        """The plan of a pod's open claims; `kind` if it is known. Raises ClaimError if no node can."""
        kind = kind or self.of(demand)
        if kind.plan is None:
            kind.plan = self._plan(demand)
        return kind.plan

    def forget_pod(self, uid: str) -> None:
        """The pod is gone, waits no more, or asks for something else."""
        self._by_pod.pop(uid, None)

    def forget_plans(self) -> None:
        """Classes or features changed: all plans are made again."""
        for kind in self._kinds.values():
            kind.plan = None
        self._by_pod.clear()  # these may know kinds that are forgotten already

    def _read(self, demand: Demand) -> Kind:
        placement = demand.pod.request.placement
        specs = [(one.spec, one.admin_namespace) for one in demand.open]
        key = _ENCODER.encode((specs, placement))
        kind = self._kinds.get(key)
        if kind is None:
            if len(self._kinds) >= MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]
            kind = self._kinds[key] = Kind(self._nodes.fit(placement))
        return kind

    def _plan(self, demand: Demand) -> Plan:
        claims = demand.numbered()
        try:
            planned = self._planned(claims)
        except ClaimError:
            planned = self._planned(demand.named())  # raises again, with the claim's name
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
            may_be_large=may_be_too_large(
                len(planned), len(_ENCODER.encode(_configurations(planned)))
            ),
        )

    def _planned(self, claims: tuple[ResourceClaim, ...]) -> tuple[PlannedClaim, ...]:
        problem = self._problem(claims)
        planned = plan_claims(problem)
        locate_all(problem, planned)
        return planned


def _configurations(planned: tuple[PlannedClaim, ...]) -> list[object]:
    """All configurations of claims, and of classes for each request that may use them."""
    found: list[object] = [one.claim.spec.devices.config for one in planned]
    requests = [request for claim in planned for request in claim.requests]
    for request in requests:
        found.extend(one.device_class.spec.config for one in request.alternatives)
    return found
