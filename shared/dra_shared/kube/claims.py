"""Claims, classes and allocations (resource.k8s.io/v1 ResourceClaim, DeviceClass, DeviceTaintRule)."""

from typing import Any, Final

import msgspec

from dra_shared.kube.devices import DeviceTaint
from dra_shared.kube.meta import KubeStruct, NodeSelector, ObjectMeta

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
"""Without it the claim controller never clears an allocation, and devices leak."""

MAX_RESULTS: Final = 32
"""Devices in one allocation, and the sum that one claim may ask for."""

MAX_RESERVED_FOR: Final = 256
"""Pods that may use one claim at the same time."""


class CELDeviceSelector(KubeStruct, frozen=True, kw_only=True):
    """An expression over one device that must be true."""

    expression: str


class DeviceSelector(KubeStruct, frozen=True, kw_only=True):
    """A test on a device; only CEL exists."""

    cel: CELDeviceSelector | None = None


class DeviceToleration(KubeStruct, frozen=True, kw_only=True):
    """Lets a request onto tainted devices; an empty key or effect matches all (KEP-5055)."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(KubeStruct, frozen=True, kw_only=True):
    """How much of a device's capacities a request wants; quantities (KEP-5075)."""

    requests: dict[str, str] = msgspec.field(default_factory=dict)


class DerivedAttribute(KubeStruct, frozen=True, kw_only=True):
    """An attribute computed per request, for constraints to read."""

    name: str
    expression: str = ""


class DeviceSubRequest(KubeStruct, frozen=True, kw_only=True):
    """One alternative of a request (KEP-4816)."""

    name: str
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = "ExactCount"
    count: int = 1
    tolerations: tuple[DeviceToleration, ...] | None = None
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DerivedAttribute, ...] | None = None


class ExactDeviceRequest(KubeStruct, frozen=True, kw_only=True):
    """What one request wants, without alternatives."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] | None = None
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DerivedAttribute, ...] | None = None


class DeviceRequest(KubeStruct, frozen=True, kw_only=True):
    """A wish for devices: exactly so, or the first available of several alternatives."""

    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] | None = None


class DeviceConstraint(KubeStruct, frozen=True, kw_only=True):
    """What the devices of several requests must have, or must not have, in common."""

    requests: tuple[str, ...] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueDeviceConfiguration(KubeStruct, frozen=True, kw_only=True):
    """Parameters that only the named driver understands."""

    driver: str
    parameters: dict[str, Any] | None = None


class DeviceClaimConfiguration(KubeStruct, frozen=True, kw_only=True):
    """Configuration for some requests, or for all when none is named."""

    requests: tuple[str, ...] | None = None
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(KubeStruct, frozen=True, kw_only=True):
    """All that a claim asks for."""

    requests: tuple[DeviceRequest, ...] | None = None
    constraints: tuple[DeviceConstraint, ...] | None = None
    config: tuple[DeviceClaimConfiguration, ...] | None = None


class ResourceClaimSpec(KubeStruct, frozen=True, kw_only=True):
    """Immutable once created."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(KubeStruct, frozen=True, kw_only=True):
    """One device (or a share of one) that was given to a request."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] | None = None
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    share_id: str | None = msgspec.field(name="shareID", default=None)
    consumed_capacity: dict[str, str] | None = None
    skip_node_operations: tuple[str, ...] | None = None


class DeviceAllocationConfiguration(KubeStruct, frozen=True, kw_only=True):
    """Configuration that goes with an allocation. Sources: FromClass, FromClaim."""

    source: str
    requests: tuple[str, ...] | None = None
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(KubeStruct, frozen=True, kw_only=True):
    """The devices of a claim and their configuration."""

    results: tuple[DeviceRequestAllocationResult, ...] | None = None
    config: tuple[DeviceAllocationConfiguration, ...] | None = None


class AllocationResult(KubeStruct, frozen=True, kw_only=True):
    """What a claim was given. Immutable as a whole until it is taken away."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(KubeStruct, frozen=True, kw_only=True):
    """Who may use a claim; ours are pods, and those of others are written back as they came."""

    api_group: str = ""
    resource: str
    name: str
    uid: str


class ResourceClaimStatus(KubeStruct, frozen=True, kw_only=True):
    """What became of a claim; what drivers report in `devices` is not ours and not read."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] | None = None


class ResourceClaim(KubeStruct, frozen=True, kw_only=True):
    """A claim as the API server keeps it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class DeviceClassConfiguration(KubeStruct, frozen=True, kw_only=True):
    """Configuration that a class adds to each claim that uses it."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(KubeStruct, frozen=True, kw_only=True):
    """Selectors and configuration under one name."""

    selectors: tuple[DeviceSelector, ...] | None = None
    config: tuple[DeviceClassConfiguration, ...] | None = None
    extended_resource_name: str | None = None


class DeviceClass(KubeStruct, frozen=True, kw_only=True):
    """A kind of device that people ask for by name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceTaintSelector(KubeStruct, frozen=True, kw_only=True):
    """Which devices a rule taints; all given fields must match, none given matches none."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(KubeStruct, frozen=True, kw_only=True):
    """A taint that the cluster's people put on devices from outside (KEP-5055)."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint


class DeviceTaintRule(KubeStruct, frozen=True, kw_only=True):
    """A taint rule as the API server keeps it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceTaintRuleSpec
