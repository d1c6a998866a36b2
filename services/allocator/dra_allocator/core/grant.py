"""What a pod gets on one node where no search is needed, and the fact that says what it gets."""

import msgspec

from dra_allocator.core.books.kinds import Plan
from dra_allocator.core.demand import Demand
from dra_allocator.core.moment import Moment
from dra_allocator.core.plain import Picked, allocate, offers_of, pick
from dra_allocator.core.policy import Policy
from dra_allocator.core.search.outcome import FoundClaim
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.size import check_size
from dra_allocator.core.state import ClusterState
from dra_shared.events.allocations import AllocatedClaim, ClaimAllocated
from dra_shared.kube.claims import AllocationResult

Claims = tuple[FoundClaim, ...]
"""What each open claim of the pod gets."""


class Grant(msgspec.Struct, frozen=True, gc=False):
    """What a pod gets on a node. `free`: devices that the node had for it, if they were counted."""

    node: str
    claims: Claims
    free: int = 0


def plain_grant(
    state: ClusterState, plan: Plan, node: str, policy: Policy, moment: Moment
) -> Grant | None:
    """What the claims get on the node; None if only the search can tell."""
    plain = plan.plain
    if plain is None or not plan.configured:
        return None
    pools = pools_on(state, node, policy)
    offers = offers_of(plain, pools, state.in_use, state.selectors)
    if not offers:
        return None
    picked = pick(plain, offers, state.selectors)
    if picked is None or (policy.strict_cards and _may_clash(state, picked)):
        return None
    found = allocate(plain, node, picked, plan.configuration, moment)
    return Grant(node, (found,), sum([mask.bit_count() for _, mask in offers]))


def pools_on(state: ClusterState, node: str, policy: Policy) -> tuple[Pool, ...]:
    """The node's pools, with their devices in the order of the policy."""
    return state.pools.pools_of(state.nodes.view(node), smallest=policy.smallest)


def allocated(
    demand: Demand, grant: Grant, plan: Plan, policy: str, moment: Moment
) -> ClaimAllocated:
    """The fact that the pod goes to the node and its open claims get this. Raises ClaimError."""
    time = moment.rfc3339()
    claims = [
        AllocatedClaim(
            claim=requested.claim, allocation=_stamped(one.allocation, time), costs=one.costs
        )
        for requested, one in zip(demand.open, grant.claims, strict=True)
    ]
    fact = ClaimAllocated(
        pod=demand.pod.request.pod,
        node=grant.node,
        claims=tuple(claims),
        shared=tuple([holding.claim for holding in demand.held]),
        policy=policy,
        time=time,
    )
    if plan.may_be_large:
        check_size(fact)
    return fact


def _may_clash(state: ClusterState, picked: Picked) -> bool:
    """Whether some device is one card with others, so that only the search can tell."""
    return any(device.id in state.cards.twins for device in picked.devices)


def _stamped(allocation: AllocationResult, time: str) -> AllocationResult:
    if allocation.allocation_timestamp is not None:
        return allocation
    return msgspec.structs.replace(allocation, allocation_timestamp=time)
