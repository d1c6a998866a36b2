"""Where pods go and what their claims get: a function of the state alone, which it leaves as it was.

All claims of a pod together or none, on one node; all pods of a group together or none.
"""

from collections.abc import Iterator
from typing import Final

from dra_allocator.core.again import again
from dra_allocator.core.attempt import Attempt, Decision, Purse, limit_message
from dra_allocator.core.demand import Demand, demand_of
from dra_allocator.core.fold.registers import group_key
from dra_allocator.core.groups import fellows_of
from dra_allocator.core.policy import policy_of
from dra_allocator.core.refuse import refuse, refuse_group, refuse_together
from dra_allocator.core.state import ClusterState
from dra_allocator.core.together import Together
from dra_allocator.core.why import says_the_same
from dra_shared.events.allocations import ClaimAllocated, ClaimUnsatisfiable, Refusal

BUDGET: Final = 10_000
"""Steps that all searches for one pod may take together, a fraction of a second.

Doubled each time a pod's search ends at the limit, up to `MOST_DOUBLINGS` times. Part of what a decision means, so it is no setting: a replay must stop where the service stopped.
"""

MOST_DOUBLINGS: Final = 3


def decide(state: ClusterState, pod_uid: str, policy: str) -> tuple[Decision, ...]:
    """Gives the decision on a pod that waits, and behind it those that only hold together with it.

    Nothing if the pod does not wait, or is refused as before. Raises UnknownPolicyError.
    """
    demand = demand_of(state.registers, pod_uid)
    if demand is None:
        return ()
    if demand.pod.request.group is None and (fact := again(state, demand, policy)) is not None:
        return (fact,)
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
        return (Attempt(state, demand, policy, budget).run(),)
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
        return Attempt(state, demand, policy, budget).run()

    def options(demand: Demand) -> Iterator[ClaimAllocated]:
        return Attempt(state, demand, policy, purse.left).options(purse)

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
        strict, message = policy_of(policy).strict_cards, limit_message(budget)
        return (refuse(state, demands[0], Refusal.SEARCH_LIMIT, message, strict_cards=strict),)
    return (refuse_together(demands, blocked, len(decisions) - 1),)
