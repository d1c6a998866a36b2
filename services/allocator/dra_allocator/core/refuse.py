"""The refusal of one pod: its reasons gathered from the state. Decides nothing itself."""

from collections.abc import Sequence
from typing import Final

import msgspec

from dra_allocator.core.demand import Demand
from dra_allocator.core.search.outcome import ClaimError, ErrorKind
from dra_allocator.core.search.plan import NO_TWINS, Problem
from dra_allocator.core.search.twins import minding
from dra_allocator.core.search.why import explain
from dra_allocator.core.state import ClusterState
from dra_allocator.core.where import why_not_allowed
from dra_allocator.core.why import Tally, refusal
from dra_shared.events.allocations import ClaimUnsatisfiable, ReasonKind, Refusal

_KINDS: Final = {
    ErrorKind.SELECTOR: ReasonKind.SELECTOR_ERROR,
    ErrorKind.DERIVED_ATTRIBUTE: ReasonKind.SELECTOR_ERROR,
    ErrorKind.CAPACITY: ReasonKind.CAPACITY,
    ErrorKind.CONSTRAINT: ReasonKind.CONSTRAINT,
    ErrorKind.POOL_INCOMPLETE: ReasonKind.POOL_INCOMPLETE,
    ErrorKind.POOL_INVALID: ReasonKind.POOL_INVALID,
}
"""An error about one node, as the reason of all of the node's devices."""


def refuse(
    state: ClusterState,
    demand: Demand,
    kind: Refusal,
    message: str = "",
    *,
    strict_cards: bool = False,
) -> ClaimUnsatisfiable:
    """Says no to a pod, with a reason for each device of each node."""
    book = state.reasons_of(demand, strict_cards=strict_cards)
    twins = state.cards.twins if strict_cards else NO_TWINS

    def tally(name: str) -> Tally:
        unfit = why_not_allowed(state.nodes, state.registers, demand, name)
        node = state.nodes.view(name)
        pools = state.pools.pools_of(node)
        if unfit is not None:
            return {(ReasonKind.NODE_UNFIT, unfit): sum(len(pool.devices) for pool in pools)}
        if not pools:
            return {(ReasonKind.NO_DEVICES, ""): 0}
        return book.once(
            state.likeness(node),
            lambda: _explain(minding(state.problem(node, pools, demand.numbered()), twins)),
        )

    return refusal(demand, kind, book.sums(tally), nodes=len(state.nodes.names), message=message)


def refuse_everywhere(demand: Demand, message: str) -> ClaimUnsatisfiable:
    """Says no to a pod that no node can help, so that no device was looked at."""
    return refusal(demand, Refusal.INVALID, {}, nodes=0, message=message)


def refuse_group(demand: Demand, why: str) -> ClaimUnsatisfiable:
    """Says no to a pod because of its group, so that no device was looked at."""
    return refusal(demand, Refusal.GROUP, {}, nodes=0, message=f"{_name(demand)}: {why}")


def refuse_together(
    demands: Sequence[Demand], blocked: ClaimUnsatisfiable, placed: int
) -> ClaimUnsatisfiable:
    """Says no to the first pod of a group, for what is against the pod that found no place."""
    first = demands[0]
    found = f"{placed} would have a place, but not pod {blocked.pod}: {blocked.summary}"
    return msgspec.structs.replace(
        blocked,
        pod=first.pod.request.pod,
        claims=first.refs,
        summary=f"{_name(first)}: {found}",
    )


def _name(demand: Demand) -> str:
    group = demand.pod.request.group
    assert group is not None
    return f"group {group.name} of {group.size} pods, placed together or not at all"


def _explain(problem: Problem) -> Tally:
    """The reasons of one node's devices."""
    try:
        explanation = explain(problem)
    except ClaimError as error:
        kind = _KINDS.get(error.kind, ReasonKind.UNSUPPORTED)
        return {(kind, error.message): sum(len(pool.devices) for pool in problem.pools)}
    return {(reason.kind, reason.detail): reason.devices for reason in explanation.reasons}
