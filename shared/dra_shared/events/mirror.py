"""Facts of the API bridge about its own writes: what Kubernetes took, refused, or took away."""

from enum import StrEnum

from dra_shared.events.fact import Fact
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import AllocationResult


class AllocationWritten(Fact, frozen=True, kw_only=True, tag="allocation.written.v1"):
    """The API server shows our allocation."""

    claim: ObjectRef
    node: str | None
    resource_version: str


class AllocationRefused(Fact, frozen=True, kw_only=True, tag="allocation.refused.v1"):
    """The API server did not take our allocation, and repeating the write would not help."""

    claim: ObjectRef
    status: int
    message: str


class ClearedBy(StrEnum):
    """Who took an allocation away."""

    BRIDGE = "bridge"
    OTHERS = "others"


class AllocationCleared(Fact, frozen=True, kw_only=True, tag="allocation.cleared.v1"):
    """The API server no longer shows an allocation for the claim.

    `unfit_node`: the pod could not run there, so it should go elsewhere next time.
    """

    claim: ObjectRef
    by: ClearedBy
    message: str = ""
    unfit_node: str | None = None


class ForeignAllocationObserved(
    Fact, frozen=True, kw_only=True, tag="allocation.foreign_observed.v1"
):
    """The API server shows an allocation that is not ours."""

    claim: ObjectRef
    allocation: AllocationResult


class PodUngated(Fact, frozen=True, kw_only=True, tag="pod.ungated.v1"):
    """The gate was taken off: the scheduler binds the pod to the node of its devices."""

    pod: ObjectRef
    node: str


class PodRefused(Fact, frozen=True, kw_only=True, tag="pod.refused.v1"):
    """The API server did not let us reserve for the pod or take its gate off, and repeating it would not help."""

    pod: ObjectRef
    status: int
    message: str


class SliceRefused(Fact, frozen=True, kw_only=True, tag="slice.refused.v1"):
    """The API server did not take a slice of a pool; its devices are not offered to others."""

    driver: str
    pool: str
    status: int
    message: str


MirrorFact = (
    AllocationWritten
    | AllocationRefused
    | AllocationCleared
    | ForeignAllocationObserved
    | PodUngated
    | PodRefused
    | SliceRefused
)
