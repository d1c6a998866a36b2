"""Where pods go and what their claims get: a function of the state alone, which it leaves as it was.

All claims of a pod together or none, on one node; all pods of a group together or none.
"""

from collections.abc import Hashable, Iterator
from typing import Final

import msgspec

from dra_allocator.core.demand import Demand, demand_of, standing_refusal
from dra_allocator.core.groups import fellows_of
from dra_allocator.core.moment import Moment
from dra_allocator.core.plain import allocate, pick
from dra_allocator.core.plans import Plan
from dra_allocator.core.policy import policy_of
from dra_allocator.core.preference import penalty
from dra_allocator.core.refuse import refuse, refuse_everywhere, refuse_group, refuse_together
from dra_allocator.core.registers import group_key
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.outcome import (
    ON_THIS_NODE,
    ClaimError,
    Found,
    FoundClaim,
    SearchLimit,
)
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.search import Search, search
from dra_allocator.core.state import ClusterState
from dra_allocator.core.together import Together
from dra_allocator.core.where import allowed_nodes
from dra_allocator.core.why import says_the_same
from dra_shared.events.allocations import (
    AllocatedClaim,
    ClaimAllocated,
    ClaimUnsatisfiable,
    Refusal,
)

BUDGET: Final = 10_000
"""Steps that all searches for one pod may take together, a fraction of a second.

Doubled each time a pod's search ends at the limit, up to `MOST_DOUBLINGS` times. Part of what a decision means, so it is no setting: a replay must stop where the service stopped.
"""

MOST_DOUBLINGS: Final = 3

COMPARED: Final = 32
"""Nodes that are compared for a claim with alternatives, once one node was found."""

TRIAL_STEPS: Final = 5
"""What it costs to place a pod for trial and to take it back, in steps of a search."""

Claims = tuple[FoundClaim, ...]
Decision = ClaimAllocated | ClaimUnsatisfiable


def decide(state: ClusterState, pod_uid: str, policy: str) -> tuple[Decision, ...]:
    """Gives the decision on a pod that waits, and behind it those that only hold together with it.

    Nothing if the pod does not wait, or is refused as before. Raises UnknownPolicyError.
    """
    demand = demand_of(state.registers, pod_uid)
    if demand is None:
        return ()
    refused = state.registers.refusals.get(pod_uid)
    budget = BUDGET << min(refused.limits if refused else 0, MOST_DOUBLINGS)
    decisions = _decide(state, demand, policy, budget)
    first = decisions[0]
    if refused is not None and isinstance(first, ClaimUnsatisfiable):
        return () if says_the_same(first, refused.fact) else decisions
    return decisions


def _decide(state: ClusterState, demand: Demand, policy: str, budget: int) -> tuple[Decision, ...]:
    group = group_key(demand.pod.request)
    if group is not None and group[1].size < 1:
        return (refuse_group(demand, "the size must be a number from 1 on"),)
    fellows = fellows_of(state.registers, group) if group is not None else None
    if fellows is None or not fellows.need:
        return (_Attempt(state, demand, policy, budget).run(),)
    if not fellows.is_complete:
        return (refuse_group(demand, "not all of them are there"),)
    first = fellows.together[0].pod.request.pod
    if first != demand.pod.request.pod:
        return (refuse_group(demand, f"pod {first} says why they wait"),)
    return _decide_together(state, fellows.together, policy, budget)


def _decide_together(
    state: ClusterState, demands: tuple[Demand, ...], policy: str, budget: int
) -> tuple[Decision, ...]:
    """One pod after the other, each at its best place; if one has none, all that is possible."""

    def attempt(demand: Demand) -> Decision:
        return _Attempt(state, demand, policy, budget).run()

    def options(demand: Demand) -> Iterator[ClaimAllocated]:
        return _Attempt(state, demand, policy, purse.left).options(purse)

    purse = Purse(left=budget)
    together = Together(state, demands)
    decisions = together.greedily(attempt)
    blocked = decisions[-1]
    if not isinstance(blocked, ClaimUnsatisfiable):
        return decisions
    found = together.exhaustively(options) if len(decisions) > 1 else None
    if found is not None:
        return found
    if purse.left <= 0:
        return (refuse(state, demands[0], Refusal.SEARCH_LIMIT, _limit_message(budget)),)
    return (refuse_together(demands, blocked, len(decisions) - 1),)


class Purse(msgspec.Struct):
    """Steps that several searches share."""

    left: int


class _Attempt:
    """One try to place one pod."""

    def __init__(self, state: ClusterState, demand: Demand, policy: str, budget: int) -> None:
        self._state = state
        self._demand = demand
        self._policy = policy
        self._moment = Moment(state.sequence, state.time_ns)
        self._budget = budget
        self._left = budget
        self._limited = False
        self._failed_at: str | None = None
        self._hopeless: set[Hashable] = set()

    def run(self) -> Decision:
        state, demand = self._state, self._demand
        never = standing_refusal(state.registers, demand)
        if never is not None:
            return refuse_everywhere(demand, never)
        try:
            best = self._best(state.plans.plan_of(demand))
        except ClaimError as error:
            return refuse_everywhere(demand, error.message)
        if best is not None:
            return self._allocated(*best)
        if self._limited:
            return refuse(state, demand, Refusal.SEARCH_LIMIT, _limit_message(self._budget))
        if self._failed_at is not None:
            return refuse(state, demand, Refusal.INVALID, self._failure(self._failed_at))
        return refuse(state, demand, Refusal.UNSATISFIABLE)

    def options(self, purse: Purse) -> Iterator[ClaimAllocated]:
        """Every place that would do, in order; none for a pod that no node can help."""
        if standing_refusal(self._state.registers, self._demand) is not None:
            return
        try:
            plan = self._state.plans.plan_of(self._demand)
            for node in self._candidates(plan):
                for found in self._every(node, plan, purse):
                    purse.left -= TRIAL_STEPS
                    yield self._allocated(node, found)
                if purse.left <= 0:
                    return
        except ClaimError:
            return

    def _every(self, node: str, plan: Plan, purse: Purse) -> Iterator[Claims]:
        """All that the claims could get on the node."""
        view = self._state.nodes.view(node)
        problem = self._state.problem(view, self._pools(view), self._demand.numbered())
        before = 0
        purse.left -= 1
        try:
            search = Search(problem, plan.planned)
            for found in search.solutions(purse.left, self._share_id):
                purse.left -= search.steps - before
                before = search.steps
                yield found.claims
                if purse.left <= 0:
                    return
            purse.left -= search.steps - before
        except ClaimError as error:
            if error.kind not in ON_THIS_NODE:
                raise

    def _best(self, plan: Plan) -> tuple[str, Claims] | None:
        """The node with the most wanted alternatives among the first that will do.

        Raises ClaimError for claims that no node can satisfy.
        """
        best: tuple[str, Claims] | None = None
        compared, least = 0, 0
        for node in self._candidates(plan):
            found = self._try(node, plan)
            if found is not None:
                cost = penalty(plan.choices, found)
                if best is None or cost < least:
                    best, least = (node, found), cost
            compared += best is not None
            if self._left <= 0 or (best and least == 0) or compared > COMPARED:
                break
        return best

    def _candidates(self, plan: Plan) -> Iterator[str]:
        """The nodes that may do, by policy."""
        state = self._state
        allowed = allowed_nodes(state.nodes, state.registers, self._demand)
        if not plan.needs:
            return state.nodes.named(allowed)
        counted = [
            (state.counts.of(one.shape, admin=one.admin), one.count or 1) for one in plan.needs
        ]
        for counts, need in counted[1:]:
            allowed &= counts.with_at_least(need)
        counts, need = counted[0]
        return counts.in_order(need, allowed, policy_of(self._policy).score)

    def _try(self, node: str, plan: Plan) -> Claims | None:
        """What the claims get on the node; None if there is nothing for them."""
        view = self._state.nodes.view(node)
        pools = self._pools(view)
        if plan.plain is not None and plan.configured:
            devices = pick(plan.plain, pools, self._state.in_use, self._state.selectors)
            if devices is not None:
                got = allocate(plan.plain, node, devices, plan.configuration, self._share_id)
                return (got,)
        likeness = self._state.likeness(view)
        if likeness in self._hopeless:
            return None
        found = self._search(view, pools, plan)
        if found is None and likeness is not None:
            self._hopeless.add(likeness)
        if found is not None and plan.plain is not None:
            plan.configuration = found[0].allocation.devices.config
            plan.configured = True
        return found

    def _search(self, node: NodeView, pools: tuple[Pool, ...], plan: Plan) -> Claims | None:
        problem = self._state.problem(node, pools, self._demand.numbered())
        try:
            outcome = search(
                problem, budget=self._left, share_id=self._share_id, planned=plan.planned
            )
        except ClaimError as error:
            if error.kind not in ON_THIS_NODE:
                raise
            self._failed_at = self._failed_at or node.name
            self._left -= 1
            return None
        self._left -= max(1, outcome.steps)
        self._limited = self._limited or isinstance(outcome, SearchLimit)
        return outcome.claims if isinstance(outcome, Found) else None

    def _failure(self, node: str) -> str:
        """What is wrong on a node where the search failed, with the claims' own names."""
        view = self._state.nodes.view(node)
        problem = self._state.problem(view, self._pools(view), self._demand.named())
        try:
            search(problem, budget=self._budget, share_id=self._share_id)
        except ClaimError as error:
            return error.message
        raise AssertionError(node)

    def _pools(self, node: NodeView) -> tuple[Pool, ...]:
        smallest = policy_of(self._policy).smallest
        return self._state.pools.pools_of(node, smallest=smallest)

    def _share_id(self, ordinal: int) -> str:
        return self._moment.share_id(self._demand.pod.request.pod.uid, ordinal)

    def _allocated(self, node: str, found: Claims) -> ClaimAllocated:
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
                for requested, one in zip(self._demand.open, found, strict=True)
            ),
            shared=tuple(holding.claim for holding in self._demand.held),
            policy=self._policy,
            time=time,
        )


def _limit_message(budget: int) -> str:
    return f"search limit of {budget} steps reached before there was an answer"
