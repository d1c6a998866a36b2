"""What one pod asks for now: which of its claims are open, which hold devices already."""

import msgspec

from dra_allocator.core.fold.registers import Holding, PendingPod, Registers
from dra_shared.events.claims import ClaimRequested
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import MAX_RESERVED_FOR, ResourceClaim
from dra_shared.kube.meta import ObjectMeta


class Demand(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A pod with its claims: those to be allocated, and those that are."""

    pod: PendingPod
    open: tuple[ClaimRequested, ...]
    held: tuple[Holding, ...]

    @property
    def uids(self) -> frozenset[str]:
        """The uids of all its claims."""
        return frozenset(ref.uid for ref in self.pod.request.claims)

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        """All claims of the pod, as its request names them."""
        return self.pod.request.claims

    def named(self) -> tuple[ResourceClaim, ...]:
        """The open claims as the search reads them."""
        return tuple(_claim(one, one.claim.name) for one in self.open)

    def numbered(self) -> tuple[ResourceClaim, ...]:
        """The same without their own names, so that answers hold for all pods that ask for this."""
        return tuple(_claim(one, f"#{number}") for number, one in enumerate(self.open, 1))


def demand_of(registers: Registers, pod_uid: str) -> Demand | None:
    """What the pod waits for; None if it does not wait, or one of its claims is not there."""
    pod = registers.pods.get(pod_uid)
    if pod is None or pod_uid in registers.placed:
        return None
    opened: list[ClaimRequested] = []
    held: list[Holding] = []
    for ref in pod.request.claims:
        requested = registers.claims.get(ref.uid)
        if requested is None:
            return None
        holding = registers.holdings.get(ref.uid)
        if holding is None:
            opened.append(requested)
        else:
            held.append(holding)
    return Demand(pod, tuple(opened), tuple(held))


def standing_refusal(registers: Registers, demand: Demand) -> str | None:
    """Why no node at all can help: Kubernetes would refuse, or has refused; None otherwise."""
    for requested in demand.open:
        claim = requested.claim
        refused = registers.write_refused.get(claim.uid)
        if refused is not None:
            return f"Kubernetes refused the allocation of claim {claim}: {refused.status} {refused.message}"
        if not requested.admin_namespace and _asks_for_admin(requested):
            return f"claim {claim} asks for admin access, which its namespace does not allow"
    for holding in demand.held:
        if len(registers.users.get(holding.claim.uid, ())) >= MAX_RESERVED_FOR:
            return f"claim {holding.claim} is used by {MAX_RESERVED_FOR} pods, no more may use it"
    return None


def _asks_for_admin(requested: ClaimRequested) -> bool:
    for request in requested.spec.devices.requests or ():
        if request.exactly is not None and request.exactly.admin_access:
            return True
    return False


def _claim(requested: ClaimRequested, name: str) -> ResourceClaim:
    return ResourceClaim(metadata=ObjectMeta(name=name), spec=requested.spec)
