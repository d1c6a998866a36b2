"""One more pod of a kind: it goes where the last one went, if that is still the first place that will do.

Pods come in runs that ask for the same, and one of them changes one node. As long as no other node
changed, and this one is no worse a choice than it was, an attempt would find it first again; so
nothing is asked that ranks the nodes. What is decided is what an attempt would decide: a test
holds the two together.
"""

from typing import Final

from dra_allocator.core.books.kinds import LastPlace, Plan
from dra_allocator.core.demand import Demand
from dra_allocator.core.grant import Grant, allocated, plain_grant
from dra_allocator.core.moment import Moment
from dra_allocator.core.policy import policy_of
from dra_allocator.core.search.outcome import ClaimError
from dra_allocator.core.state import ClusterState
from dra_shared.events.allocations import ClaimAllocated

MOST_TURNS: Final = 1000
"""Pods in a row that are placed so; then the indices are asked, so that they do not fall behind."""


def again(state: ClusterState, demand: Demand, policy: str) -> ClaimAllocated | None:
    """The decision on the pod if it is the last one's over again; None if an attempt has to tell."""
    plan = state.kinds.of(demand).plan
    if plan is None or plan.last is None or not _is_free_to_go(state, demand):
        return None
    last, plan.last = plan.last, None
    place = state.touched.since_only(last.place, last.node)
    if place is None or last.policy != policy or last.turns >= MOST_TURNS:
        return None
    if state.nodes.why_unfit(last.node, demand.pod.request.placement) is not None:
        return None
    order = policy_of(policy)
    moment = Moment(state.sequence, state.time_ns, demand.pod.request.pod.uid)
    granted = plain_grant(state, plan, last.node, order, moment)
    if granted is None or order.score(granted.free) > order.score(last.free):
        return None
    last.free, last.place, last.turns = granted.free, place, last.turns + 1
    plan.last = last
    try:
        return allocated(demand, granted, plan, policy, moment)
    except ClaimError:
        return None


def remember(state: ClusterState, demand: Demand, plan: Plan, grant: Grant, policy: str) -> None:
    """The pod goes where the first of all nodes that were ranked had room, and no search was needed.

    Pools that several nodes see change what many nodes have: then there is nothing to remember.
    """
    if not state.pools.wide and _is_free_to_go(state, demand):
        plan.last = LastPlace(grant.node, policy, grant.free, state.touched.end)


def _is_free_to_go(state: ClusterState, demand: Demand) -> bool:
    """Whether what is asked for is all that says where the pod may go."""
    registers = state.registers
    return not (demand.held or len(registers.unfit) or len(registers.write_refused))
