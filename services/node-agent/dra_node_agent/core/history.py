"""What the log knows about this node, folded: for an agent whose ledger is new or was lost."""

from collections.abc import Iterator

import msgspec

from dra_node_agent.core.report import Report, evolve
from dra_shared.events.allocations import AllocationAdopted, ClaimAllocated, ClaimReleased
from dra_shared.events.fact import Fact
from dra_shared.events.nodes import (
    ClaimPrepared,
    ClaimUnprepared,
    DeviceFaultCleared,
    DeviceFaultRaised,
    DevicesReported,
)
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import AllocationResult


class KnownAllocation(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim was given, as the log says."""

    claim: ObjectRef
    allocation: AllocationResult


class Released(msgspec.Struct, frozen=True, kw_only=True):
    """The claim holds nothing any more, as the log says."""

    uid: str


class History:
    """All that earlier agents of the node left in the log. Only `apply` changes it."""

    def __init__(self) -> None:
        self.reports: dict[str, Report] = {}
        self.prepared: dict[tuple[str, str], ClaimPrepared] = {}
        """Claims that were prepared and never unprepared, by uid and driver."""

    def apply(self, fact: Fact) -> None:
        """Takes in the next fact; facts about other things than this node's devices pass."""
        match fact:
            case DevicesReported() | DeviceFaultRaised() | DeviceFaultCleared():
                self.reports[fact.driver] = evolve(self.reports.get(fact.driver), fact)
            case ClaimPrepared():
                self.prepared[fact.claim.uid, fact.driver] = fact
            case ClaimUnprepared():
                self.prepared.pop((fact.claim.uid, fact.driver), None)
            case _:
                pass


def lessons(fact: Fact) -> Iterator[KnownAllocation | Released]:
    """What a fact teaches about allocations."""
    match fact:
        case ClaimAllocated():
            for given in fact.claims:
                yield KnownAllocation(claim=given.claim, allocation=given.allocation)
        case AllocationAdopted():
            yield KnownAllocation(claim=fact.claim, allocation=fact.allocation)
        case ClaimReleased():
            yield Released(uid=fact.claim.uid)
        case _:
            pass
