"""Where one pod goes and what its claims get: a pure function of the state.

All claims of the pod together or none, on one node. Pods of a group are decided one by one, as if
they were single pods: placing a whole group or nothing is not done here yet.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from dra_allocator.core.demand import Demand, demand_of, standing_refusal
from dra_allocator.core.moment import Moment
from dra_allocator.core.policy import score_of
from dra_allocator.core.preference import choices_in, penalty
from dra_allocator.core.refuse import refuse, refuse_everywhere
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.outcome import ON_THIS_NODE, ClaimError, Found, SearchLimit
from dra_allocator.core.search.plan import Alternative, plan_claims
from dra_allocator.core.search.search import search
from dra_allocator.core.state import ClusterState
from dra_allocator.core.where import allowed_nodes
from dra_shared.events.allocations import (
    AllocatedClaim,
    ClaimAllocated,
    ClaimUnsatisfiable,
    Refusal,
)

BUDGET: Final = 20_000
"""Steps that all searches for one pod may take together, a fraction of a second.

Doubled each time a pod's search ends at the limit, up to `MOST_DOUBLINGS` times. Part of what a decision means, so it is no setting: a replay must stop where the service stopped.
"""

MOST_DOUBLINGS: Final = 3

COMPARED: Final = 32
"""Nodes that are compared for a claim with alternatives, once one node was found."""

Decision = ClaimAllocated | ClaimUnsatisfiable


def decide(state: ClusterState, pod_uid: str, policy: str) -> Decision | None:
    """Gives the decision on a pod that waits; None if it does not wait, or nothing is new.

    Raises UnknownPolicyError.
    """
    demand = demand_of(state.registers, pod_uid)
    if demand is None:
        return None
    refused = state.registers.refusals.get(pod_uid)
    budget = BUDGET << min(refused.limits if refused else 0, MOST_DOUBLINGS)
    decision = _Attempt(state, demand, policy, budget).run()
    return None if refused is not None and decision == refused.fact else decision


class _Attempt:
    """One try to place one pod."""

    def __init__(self, state: ClusterState, demand: Demand, policy: str, budget: int) -> None:
        self._state = state
        self._demand = demand
        self._specs = demand.specs()
        self._policy = policy
        self._moment = Moment(state.sequence, state.time_ns)
        self._budget = budget
        self._left = budget
        self._limited = False
        self._error: ClaimError | None = None

    def run(self) -> Decision:
        state, demand = self._state, self._demand
        never = standing_refusal(state.registers, demand)
        if never is not None:
            return refuse_everywhere(demand, never)
        try:
            best = self._best()
        except ClaimError as error:
            return refuse_everywhere(demand, error.message)
        if best is not None:
            return self._allocated(*best)
        if self._limited:
            message = f"search limit of {self._budget} steps reached before there was an answer"
            return refuse(state, demand, Refusal.SEARCH_LIMIT, message)
        if self._error is not None:
            return refuse(state, demand, Refusal.INVALID, self._error.message)
        return refuse(state, demand, Refusal.UNSATISFIABLE)

    def _best(self) -> tuple[str, Found] | None:
        """The node with the most wanted alternatives among the first that will do.

        Raises ClaimError for claims that no node can satisfy.
        """
        choices = choices_in(self._specs)
        best: tuple[str, Found] | None = None
        compared, least = 0, 0
        for node in self._candidates():
            found = self._search(node)
            if found is not None:
                cost = penalty(choices, found)
                if best is None or cost < least:
                    best, least = (node, found), cost
            compared += best is not None
            if self._left <= 0 or (best and least == 0) or compared > COMPARED:
                break
        return best

    def _candidates(self) -> Iterator[str]:
        """The nodes that may do, by policy."""
        state = self._state
        needs = self._needs()
        allowed = allowed_nodes(state.nodes, state.registers, self._demand)
        if not needs:
            yield from state.nodes.named(allowed)
            return
        counted = [(state.counts.of(one.shape, admin=one.admin), _count(one)) for one in needs]
        for counts, need in counted[1:]:
            allowed &= counts.with_at_least(need)
        counts, need = counted[0]
        yield from counts.in_order(need, allowed, score_of(self._policy))

    def _needs(self) -> tuple[Alternative, ...]:
        """What any node must have. Raises ClaimError for claims that no node can satisfy."""
        return tuple(
            request.alternatives[0]
            for claim in plan_claims(self._state.problem(NodeView(name=""), (), self._specs))
            for request in claim.requests
            if not request.chooses
        )

    def _search(self, node: str) -> Found | None:
        view = self._state.nodes.view(node)
        problem = self._state.problem(view, self._state.pools.pools_of(view), self._specs)
        try:
            outcome = search(problem, budget=self._left, share_id=self._share_id)
        except ClaimError as error:
            if error.kind not in ON_THIS_NODE:
                raise
            self._error = self._error or error
            self._left -= 1
            return None
        self._left -= max(1, outcome.steps)
        self._limited = self._limited or isinstance(outcome, SearchLimit)
        return outcome if isinstance(outcome, Found) else None

    def _share_id(self, ordinal: int) -> str:
        return self._moment.share_id(self._demand.pod.request.pod.uid, ordinal)

    def _allocated(self, node: str, found: Found) -> ClaimAllocated:
        time = self._moment.rfc3339()
        return ClaimAllocated(
            pod=self._demand.pod.request.pod,
            node=node,
            claims=tuple(
                AllocatedClaim(
                    claim=requested.claim,
                    allocation=msgspec.structs.replace(one.allocation, allocation_timestamp=time),
                    costs=one.costs,
                )
                for requested, one in zip(self._demand.open, found.claims, strict=True)
            ),
            shared=tuple(holding.claim for holding in self._demand.held),
            policy=self._policy,
            time=time,
        )


def _count(alternative: Alternative) -> int:
    """How many devices a node needs at least; mode All is content with one."""
    return 1 if alternative.count is None else alternative.count
