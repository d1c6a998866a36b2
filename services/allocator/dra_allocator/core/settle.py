"""What must be said about one claim because of what others did: given back, or adopted.

A pure function of the state, like `decide`, and the only other one that makes facts.
"""

from collections.abc import Iterator

from dra_allocator.core.fold.registers import Holding, Registers, Shown
from dra_allocator.core.search.devices import cost_of
from dra_allocator.core.search.plan import Twins
from dra_allocator.core.search.twins import costs_of_twins
from dra_allocator.core.state import ClusterState
from dra_allocator.core.where import only_node
from dra_shared.events.allocations import (
    AllocationAdopted,
    ClaimReleased,
    Cost,
    ReleaseReason,
)
from dra_shared.ids import DeviceId
from dra_shared.kube.claims import DeviceRequestAllocationResult
from dra_shared.quantity import parse_quantity

Settlement = ClaimReleased | AllocationAdopted


def settle(state: ClusterState, claim_uid: str, *, strict_cards: bool = False) -> Settlement | None:
    """Gives what is owed for the claim, None if nothing is.

    Facts that the decision knew (its `cause` is behind them) are about an older allocation. With
    `strict_cards` an adopted device holds its twins too, as one that is allocated does.
    """
    registers = state.registers
    holding = registers.holdings.get(claim_uid)
    shown = registers.shown.get(claim_uid)
    if claim_uid in registers.claims and shown is not None and _is_foreign_news(holding, shown):
        return _adopt(state, shown, holding, state.cards.twins if strict_cards else None)
    if holding is None:
        return None
    reason = _why_over(registers, holding, shown)
    if reason is None:
        return None
    return ClaimReleased(claim=holding.claim, node=holding.node, reason=reason)


def may_owe(registers: Registers, claim_uid: str) -> bool:
    """Whether `settle` has to look at the claim: for most, nothing but our own decision is known."""
    return (
        claim_uid not in registers.claims
        or claim_uid in registers.shown
        or claim_uid in registers.write_refused
    )


def _is_foreign_news(holding: Holding | None, shown: Shown) -> bool:
    if shown.allocation is None:
        return False
    return holding is None or holding.cause < shown.sequence


def _why_over(registers: Registers, holding: Holding, shown: Shown | None) -> ReleaseReason | None:
    uid = holding.claim.uid
    if uid not in registers.claims:
        return ReleaseReason.CLAIM_WITHDRAWN
    if shown is not None and shown.allocation is None and shown.sequence > holding.cause:
        return ReleaseReason.CLEARED
    refused = registers.write_refused.get(uid)
    if refused is not None and refused.sequence > holding.cause and not holding.adopted:
        return ReleaseReason.REFUSED
    return None


def _adopt(
    state: ClusterState, shown: Shown, holding: Holding | None, twins: Twins | None
) -> AllocationAdopted:
    assert shown.allocation is not None
    results = shown.allocation.devices.results or ()
    costs = tuple(_cost(state, result) for result in results)
    costs += costs_of_twins(costs, twins or {})
    ours = holding.costs if holding else ()
    conflicts = dict.fromkeys(cost.device for cost in costs if _is_taken(state, cost, ours))
    selector = shown.allocation.node_selector
    return AllocationAdopted(
        claim=shown.claim,
        node=None if selector is None else only_node(selector),
        allocation=shown.allocation,
        costs=costs,
        conflicts=tuple(conflicts),
        strict_cards=twins is not None,
    )


def _cost(state: ClusterState, result: DeviceRequestAllocationResult) -> Cost:
    """What the result takes: its own words for capacity, today's slices for counters."""
    id_ = DeviceId(result.driver, result.pool, result.device)
    consumed = result.consumed_capacity or {}
    if result.admin_access:
        return Cost(device=id_, share_id=result.share_id, admin=True)
    device = state.pools.device(id_)
    if device is None:
        return Cost(device=id_, share_id=result.share_id, capacity=consumed)
    return cost_of(
        device, result.share_id, {name: str(parse_quantity(q)) for name, q in consumed.items()}
    )


def _is_taken(state: ClusterState, cost: Cost, ours: tuple[Cost, ...]) -> bool:
    """Whether another claim holds the device in a way that does not go with this."""
    others = _without(state.in_use.holders(cost.device), ours)
    if cost.card_of is not None:
        others = (other for other in others if other.card_of is None)
    return not cost.admin and any(
        cost.share_id is None or other.share_id is None for other in others
    )


def _without(costs: tuple[Cost, ...], ours: tuple[Cost, ...]) -> Iterator[Cost]:
    left = list(ours)
    for cost in costs:
        if cost in left:
            left.remove(cost)
        else:
            yield cost
