"""Facts of the allocator: who got what, who could not and why, what was given back."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from dra_shared.events.fact import Fact
from dra_shared.ids import DeviceId, ObjectRef
from dra_shared.kube.claims import AllocationResult


class Cost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What one result of an allocation takes, frozen when it was decided.

    `capacity` and `counters` are exact quantities as text; counters are per counter set of the
    device's pool. A share takes part of a device, `admin` takes nothing at all. `card_of`: no result
    has the device, but nobody else may, since it is one card with this one, which a result has.
    """

    device: DeviceId
    share_id: str | None = None
    capacity: dict[str, str] = msgspec.field(default_factory=dict)
    counters: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    compatibility_groups: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    admin: bool = False
    card_of: DeviceId | None = None


def of_results(costs: Iterable[Cost]) -> tuple[Cost, ...]:
    """What an allocation's results cost, in their order, without devices that are the same cards."""
    return tuple(cost for cost in costs if cost.card_of is None)


class AllocatedClaim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What one claim got, as the API will show it, and what that costs.

    The costs of the results come first, in their order; behind them stand devices that are the same
    card as one of those, if the policy treats them so.
    """

    claim: ObjectRef
    allocation: AllocationResult
    costs: tuple[Cost, ...]


class ClaimAllocated(Fact, frozen=True, kw_only=True, tag="claim.allocated.v1"):
    """One pod was placed: all its claims together, on one node.

    `claims` are the new allocations, `shared` those that had one already and are now used by
    this pod too. Time and policy are part of the decision.
    """

    pod: ObjectRef
    node: str
    claims: tuple[AllocatedClaim, ...]
    shared: tuple[ObjectRef, ...] = ()
    policy: str
    time: str


class ReasonKind(StrEnum):
    """Why a device, or a whole node, was not taken."""

    IN_USE = "in_use"
    TAINTED = "tainted"
    SELECTOR_FALSE = "selector_false"
    SELECTOR_ERROR = "selector_error"
    CAPACITY = "capacity"
    COUNTERS = "counters"
    CONSTRAINT = "constraint"
    POOL_INCOMPLETE = "pool_incomplete"
    POOL_INVALID = "pool_invalid"
    NODE_UNFIT = "node_unfit"
    UNSUPPORTED = "unsupported"
    NOT_ENOUGH = "not_enough"
    NO_DEVICES = "no_devices"


class Reason(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """So many devices were not taken for the same reason; `detail` names key, counter or taint."""

    kind: ReasonKind
    detail: str
    devices: int


class Refusal(StrEnum):
    """What kind of no it is.

    Not now, not decided within the budget, never as it is written, or not without its group.
    """

    UNSATISFIABLE = "unsatisfiable"
    SEARCH_LIMIT = "search_limit"
    INVALID = "invalid"
    GROUP = "group"


class ClaimUnsatisfiable(Fact, frozen=True, kw_only=True, tag="claim.unsatisfiable.v1"):
    """A pod could not be placed. The reasons' device counts sum to `devices`, all that were looked at."""

    pod: ObjectRef
    claims: tuple[ObjectRef, ...]
    refusal: Refusal
    reasons: tuple[Reason, ...]
    devices: int
    nodes: int
    summary: str


class ReleaseReason(StrEnum):
    """Why an allocation ended."""

    CLAIM_WITHDRAWN = "claim_withdrawn"
    CLEARED = "cleared"
    REFUSED = "refused"


class ClaimReleased(Fact, frozen=True, kw_only=True, tag="claim.released.v1"):
    """The claim holds nothing any more; its devices are free for others."""

    claim: ObjectRef
    node: str | None
    reason: ReleaseReason


class AllocationAdopted(Fact, frozen=True, kw_only=True, tag="allocation.adopted.v1"):
    """Someone else allocated the claim (kube-scheduler, another allocator); it counts as in use.

    `strict_cards`: the costs name devices that are the same card too.
    """

    claim: ObjectRef
    node: str | None
    allocation: AllocationResult
    costs: tuple[Cost, ...]
    conflicts: tuple[DeviceId, ...] = ()
    strict_cards: bool = False


AllocationFact = ClaimAllocated | ClaimUnsatisfiable | ClaimReleased | AllocationAdopted
