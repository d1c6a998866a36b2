"""Devices and the slices they are published in (resource.k8s.io/v1 ResourceSlice).

Limits of the API that a publisher must keep stand beside the shapes as constants.
"""

from typing import Any, Final

import msgspec

from dra_shared.kube.meta import KubeStruct, NodeSelector, ObjectMeta

MAX_DEVICES_PER_SLICE: Final = 128
"""Devices in one slice, when none of them needs more room (KEP-4381)."""

MAX_DEVICES_PER_SLICE_WITH_EXTRAS: Final = 64
"""Devices in one slice as soon as one has taints, counters or list attributes (KEP-5055, KEP-4815)."""

MAX_COUNTER_SETS_PER_SLICE: Final = 8


class DeviceAttribute(KubeStruct, frozen=True, kw_only=True):
    """One value that selectors and constraints can read; exactly one field is set."""

    integer: int | None = msgspec.field(name="int", default=None)
    boolean: bool | None = msgspec.field(name="bool", default=None)
    string: str | None = None
    version: str | None = None
    ints: tuple[int, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


class CapacityRange(KubeStruct, frozen=True, kw_only=True):
    """Bounds and step of a capacity request; quantities (KEP-5075)."""

    min: str | None = None
    max: str | None = None
    step: str | None = None


class CapacityRequestPolicy(KubeStruct, frozen=True, kw_only=True):
    """How a request for part of a capacity is rounded; quantities (KEP-5075)."""

    default: str | None = None
    valid_values: tuple[str, ...] | None = None
    valid_range: CapacityRange | None = None


class DeviceCapacity(KubeStruct, frozen=True, kw_only=True):
    """How much a device has of something, and how parts of it may be asked for."""

    value: str
    request_policy: CapacityRequestPolicy | None = None


class Counter(KubeStruct, frozen=True, kw_only=True):
    """An amount in a counter set; a quantity."""

    value: str


class CounterSet(KubeStruct, frozen=True, kw_only=True):
    """What the devices of a pool share (KEP-4815)."""

    name: str
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class DeviceCounterConsumption(KubeStruct, frozen=True, kw_only=True):
    """What a device takes from one counter set when it is allocated (KEP-4815, KEP-5729)."""

    counter_set: str
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)
    compatibility_groups: tuple[str, ...] | None = None


class DeviceTaint(KubeStruct, frozen=True, kw_only=True):
    """Keeps claims away from a device. Effects: None, NoSchedule, NoExecute (KEP-5055)."""

    key: str
    value: str = ""
    effect: str
    time_added: str | None = None


class Device(KubeStruct, frozen=True, kw_only=True):
    """One device of a slice."""

    name: str
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: tuple[DeviceCounterConsumption, ...] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] | None = None
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    allow_multiple_allocations: bool | None = None
    node_allocatable_resource_mappings: dict[str, Any] | None = None
    """Kept as it comes; the kubelet's business, not the allocator's."""


class ResourcePool(KubeStruct, frozen=True, kw_only=True):
    """Which pool, which edition of it, and of how many slices that edition consists."""

    name: str
    generation: int = 0
    resource_slice_count: int


class ResourceSliceSpec(KubeStruct, frozen=True, kw_only=True):
    """A part of a pool. Exactly one of the four node fields is set."""

    driver: str
    pool: ResourcePool
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] | None = None
    shared_counters: tuple[CounterSet, ...] | None = None
    skip_node_operations: tuple[str, ...] | None = None


class ResourceSlice(KubeStruct, frozen=True, kw_only=True):
    """A slice as the API server keeps it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec
