"""One try to place one pod: the nodes that may do in the order of the policy, and what it gets there."""

from collections.abc import Hashable, Iterator
from typing import Final

import msgspec

from dra_allocator.core.again import remember
from dra_allocator.core.books.kinds import Plan
from dra_allocator.core.demand import Demand, standing_refusal
from dra_allocator.core.grant import Claims, Grant, allocated, plain_grant, pools_on
from dra_allocator.core.moment import Moment
from dra_allocator.core.policy import policy_of
from dra_allocator.core.preference import penalty
from dra_allocator.core.refuse import refuse, refuse_everywhere
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.outcome import (
    ON_THIS_NODE,
    ClaimError,
    Found,
    SearchLimit,
)
from dra_allocator.core.search.plan import Problem
from dra_allocator.core.search.search import search
from dra_allocator.core.search.twins import minding, searching
from dra_allocator.core.state import ClusterState
from dra_allocator.core.where import allowed_nodes
from dra_shared.events.allocations import (
    ClaimAllocated,
    ClaimUnsatisfiable,
    Refusal,
)

COMPARED: Final = 32
"""Nodes that are compared for a claim with alternatives, once one node was found."""

TRIAL_STEPS: Final = 5
"""What it costs to place a pod for trial and to take it back, in steps of a search."""

Decision = ClaimAllocated | ClaimUnsatisfiable


class Purse(msgspec.Struct):
    """Steps that several searches share."""

    left: int


class Attempt:
    """One try to place one pod. `budget`: steps that all its searches may take together."""

    def __init__(self, state: ClusterState, demand: Demand, policy: str, budget: int) -> None:
        self._state = state
        self._demand = demand
        self._kind = state.kinds.of(demand)
        self._policy = policy
        self._order = policy_of(policy)
        self._moment = Moment(state.sequence, state.time_ns, demand.pod.request.pod.uid)
        self._budget = budget
        self._left = budget
        self._limited = False
        self._failed_at: str | None = None
        self._hopeless: set[Hashable] = set()

    def run(self) -> Decision:
        """The best place of the pod, or what is against all of them."""
        state, demand = self._state, self._demand
        never = standing_refusal(state.registers, demand)
        if never is not None:
            return refuse_everywhere(demand, never)
        try:
            plan = state.kinds.plan_of(demand, self._kind)
            best = self._best(plan)
            if best is not None:
                return allocated(demand, best, plan, self._policy, self._moment)
        except ClaimError as error:
            return refuse_everywhere(demand, error.message)
        if self._limited:
            return self._refuse(Refusal.SEARCH_LIMIT, limit_message(self._budget))
        if self._failed_at is not None:
            return self._refuse(Refusal.INVALID, self._failure(self._failed_at))
        return self._refuse(Refusal.UNSATISFIABLE)

    def options(self, purse: Purse) -> Iterator[ClaimAllocated]:
        """Every place that would do, in order; none for a pod that no node can help."""
        if standing_refusal(self._state.registers, self._demand) is not None:
            return
        try:
            plan = self._state.kinds.plan_of(self._demand, self._kind)
            for node in self._candidates(plan):
                for found in self._every(node, plan, purse):
                    purse.left -= TRIAL_STEPS
                    grant = Grant(node, found)
                    yield allocated(self._demand, grant, plan, self._policy, self._moment)
                if purse.left <= 0:
                    return
        except ClaimError:
            return

    def _every(self, node: str, plan: Plan, purse: Purse) -> Iterator[Claims]:
        """All that the claims could get on the node."""
        view = self._state.nodes.view(node)
        problem = self._problem(view)
        before = 0
        purse.left -= 1
        try:
            search = searching(problem, plan.planned)
            for found in search.solutions(purse.left, self._moment.share_id):
                purse.left -= search.steps - before
                before = search.steps
                yield found.claims
                if purse.left <= 0:
                    return
            purse.left -= search.steps - before
        except ClaimError as error:
            if error.kind not in ON_THIS_NODE:
                raise

    def _best(self, plan: Plan) -> Grant | None:
        """The node with the most wanted alternatives among the first that will do.

        Raises ClaimError for claims that no node can satisfy.
        """
        best: Grant | None = None
        compared, least = 0, 0
        for node in self._candidates(plan):
            found = self._try(node, plan)
            if found is not None:
                cost = penalty(plan.choices, found.claims) if plan.choices else 0
                if best is None or cost < least:
                    best, least = found, cost
            compared += best is not None
            if self._left <= 0 or (best and least == 0) or compared > COMPARED:
                break
        return best

    def _candidates(self, plan: Plan) -> Iterator[str]:
        """The nodes that may do, by policy."""
        state = self._state
        allowed = allowed_nodes(state.nodes, state.registers, self._demand, self._kind.fit)
        if not plan.needs:
            return state.nodes.named(allowed)
        for one in plan.needs[1:]:
            allowed &= state.counts.of(one.shape, admin=one.admin).with_at_least(one.count or 1)
        first = plan.needs[0]
        counts = state.counts.of(first.shape, admin=first.admin)
        return counts.in_order(first.count or 1, allowed, self._order.score)

    def _try(self, node: str, plan: Plan) -> Grant | None:
        """What the claims get on the node; None if there is nothing for them."""
        granted = plain_grant(self._state, plan, node, self._order, self._moment)
        if granted is not None:
            if self._left == self._budget:  # so it is the first that was tried
                remember(self._state, self._demand, plan, granted, self._policy)
            return granted
        view = self._state.nodes.view(node)
        likeness = self._state.likeness(view)
        if likeness in self._hopeless:
            return None
        found = self._search(view, plan)
        if found is None and likeness is not None:
            self._hopeless.add(likeness)
        if found is not None and plan.plain is not None:
            plan.configuration = found[0].allocation.devices.config
            plan.configured = True
        return None if found is None else Grant(node, found)

    def _search(self, node: NodeView, plan: Plan) -> Claims | None:
        problem = self._problem(node)
        try:
            search = searching(problem, plan.planned)
            outcome = search.run(self._left, self._moment.share_id)
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
        pools = pools_on(self._state, node, self._order)
        problem = self._state.problem(view, pools, self._demand.named())
        try:
            search(problem, budget=self._budget, share_id=self._moment.share_id)
        except ClaimError as error:
            return error.message
        raise AssertionError(node)

    def _refuse(self, kind: Refusal, message: str = "") -> ClaimUnsatisfiable:
        strict = self._order.strict_cards
        return refuse(self._state, self._demand, kind, message, strict_cards=strict)

    def _problem(self, node: NodeView) -> Problem:
        pools = pools_on(self._state, node.name, self._order)
        problem = self._state.problem(node, pools, self._demand.numbered())
        return minding(problem, self._state.cards.twins) if self._order.strict_cards else problem


def limit_message(budget: int) -> str:
    """What is said of a search that ended at its limit."""
    return f"search limit of {budget} steps reached before there was an answer"
