"""Why a claim has its devices, or why it has none: the last decision on it, and what it saw.

The decision's facts are in the log; what the allocator saw is worked out again by its own core, at
the place of the log that the decision knew.
"""

from collections.abc import Sequence

import msgspec

from dra_allocator.core.demand import demand_of
from dra_allocator.core.fold.evolve import is_own
from dra_allocator.core.policy import POLICIES
from dra_allocator.core.refuse import refuse
from dra_allocator.core.replay import new_state
from dra_cli.core.filters import claims_of
from dra_cli.core.rows import Row
from dra_cli.core.sentences import instant, sentence, tag_of
from dra_shared.events.allocations import (
    AllocatedClaim,
    AllocationAdopted,
    AllocationFact,
    ClaimAllocated,
    ClaimReleased,
    ClaimUnsatisfiable,
    Cost,
    Reason,
    ReasonKind,
    Refusal,
    of_results,
)
from dra_shared.events.claims import ClaimFact, ClaimRequested, ClaimWithdrawn
from dra_shared.events.mirror import AllocationRefused
from dra_shared.kube.claims import AllocationResult
from dra_shared.log.protocol import Record


class GrantRow(Row, frozen=True, kw_only=True):
    """A device that a request of the claim got."""

    request: str
    device: str
    takes: str


class ReasonRow(Row, frozen=True, kw_only=True):
    """So many of the devices that were looked at were `found`, at the moment of the decision."""

    devices: int
    found: str
    detail: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one claim; sequence and time are those of the decision, if there is one."""

    claim: str
    answer: str
    sequence: int
    time: str
    grants: tuple[GrantRow, ...] = ()
    saw: tuple[ReasonRow, ...] = ()


def explain(records: Sequence[Record], name: str) -> Explanation | None:
    """The answer for a claim (`namespace/name` or uid), None if the log does not know it."""
    about = [record for record in records if _is_about(record, name)]
    if not about:
        return None
    last = _grant(about, name) or about[-1]
    fact = last.envelope.fact
    claim = next(str(ref) for ref in claims_of(fact) if name in (str(ref), ref.uid))
    return Explanation(
        claim=claim,
        answer=_answer(last),
        sequence=last.sequence,
        time=instant(last.time_ns),
        grants=_grants(fact, name),
        saw=tuple(_row(reason) for reason in _saw(records, last)),
    )


def _grant(about: Sequence[Record], name: str) -> Record | None:
    """The decision that the claim's devices come from, if it has any now."""
    granted: Record | None = None
    for record in about:
        match record.envelope.fact:
            case ClaimReleased() | ClaimWithdrawn():
                granted = None
            case fact if _grants(fact, name):
                granted = record
            case _:
                pass
    return granted


def _is_about(record: Record, name: str) -> bool:
    fact = record.envelope.fact
    if not isinstance(fact, AllocationFact | ClaimFact | AllocationRefused):
        return False
    return any(name in (str(ref), ref.uid) for ref in claims_of(fact))


def _answer(last: Record) -> str:
    fact = last.envelope.fact
    match fact:
        case ClaimRequested():
            return f"no pod that uses it waits: {sentence(fact)}"
        case ClaimAllocated(policy=policy):
            return f"policy {policy} chose node {fact.node} for pod {fact.pod}"
        case ClaimUnsatisfiable():
            return sentence(fact)
        case _:
            return f"{tag_of(fact)}: {sentence(fact)}"


def _grants(fact: object, name: str) -> tuple[GrantRow, ...]:
    match fact:
        case ClaimAllocated(claims=claims):
            return tuple(row for got in claims if _is(got, name) for row in grants(got))
        case AllocationAdopted():
            return tuple(_grant_rows(fact.allocation, fact.costs))
        case _:
            return ()


def _is(got: AllocatedClaim, name: str) -> bool:
    return name in (str(got.claim), got.claim.uid)


def grants(got: AllocatedClaim) -> list[GrantRow]:
    """The devices that a claim got, by request."""
    return _grant_rows(got.allocation, got.costs)


def _grant_rows(allocation: AllocationResult, costs: tuple[Cost, ...]) -> list[GrantRow]:
    results = allocation.devices.results or ()
    return [
        GrantRow(
            request=result.request,
            device=str(cost.device),
            takes=_takes(cost) + _and_cards(cost, costs),
        )
        for result, cost in zip(results, of_results(costs), strict=False)
    ]


def _takes(cost: Cost) -> str:
    if cost.admin:
        return "nothing (admin access)"
    counters = {
        f"{counter_set}/{name}": amount
        for counter_set, amounts in cost.counters.items()
        for name, amount in amounts.items()
    }
    parts = [f"{name} {amount}" for name, amount in {**cost.capacity, **counters}.items()]
    if cost.share_id is not None:
        return f"a share: {', '.join(parts)}"
    return "the whole device" + (f", {', '.join(parts)}" if counters else "")


def _and_cards(cost: Cost, costs: tuple[Cost, ...]) -> str:
    cards = [str(one.device) for one in costs if one.card_of == cost.device]
    return f", one card with {', '.join(cards)}" if cards else ""


def _saw(records: Sequence[Record], decision: Record) -> Sequence[Reason]:
    """What the allocator saw of each device when it decided."""
    fact = decision.envelope.fact
    if isinstance(fact, ClaimUnsatisfiable):
        return fact.reasons
    if not isinstance(fact, ClaimAllocated):
        return ()
    state = new_state()
    for record in records:
        if record.sequence >= decision.sequence:
            break
        if record.sequence <= decision.envelope.cause or is_own(record.envelope.fact):
            state.apply(record)
    demand = demand_of(state.registers, fact.pod.uid)
    if demand is None:
        return ()
    policy = POLICIES.get(fact.policy)
    strict = policy is not None and policy.strict_cards
    return refuse(state, demand, Refusal.UNSATISFIABLE, strict_cards=strict).reasons


def _row(reason: Reason) -> ReasonRow:
    found = "free" if reason.kind is ReasonKind.NOT_ENOUGH else reason.kind.replace("_", " ")
    return ReasonRow(devices=reason.devices, found=found, detail=reason.detail)
