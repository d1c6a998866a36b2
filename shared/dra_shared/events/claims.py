"""Facts of the API bridge about demand: claims that exist and pods that wait for them."""

import msgspec

from dra_shared.events.fact import Fact, Placement
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import ResourceClaimSpec


class ClaimRequested(Fact, frozen=True, kw_only=True, tag="claim.requested.v1"):
    """A claim exists. Its spec never changes. `admin_namespace`: admin access may be granted there."""

    claim: ObjectRef
    spec: ResourceClaimSpec
    admin_namespace: bool = False


class ClaimWithdrawn(Fact, frozen=True, kw_only=True, tag="claim.withdrawn.v1"):
    """The claim is gone from the API, and with it whatever it held."""

    claim: ObjectRef


class PodGroupRef(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Pods that are placed together or not at all."""

    name: str
    size: int


class PodRequested(Fact, frozen=True, kw_only=True, tag="pod.requested.v1"):
    """A gated pod waits for its claims: the unit of a decision.

    All of `claims` exist (their facts stand before this one).
    """

    pod: ObjectRef
    claims: tuple[ObjectRef, ...]
    placement: Placement
    priority: int = 0
    group: PodGroupRef | None = None


class PodWithdrawn(Fact, frozen=True, kw_only=True, tag="pod.withdrawn.v1"):
    """The pod is gone or has finished: it no longer uses its claims."""

    pod: ObjectRef


ClaimFact = ClaimRequested | ClaimWithdrawn | PodRequested | PodWithdrawn
