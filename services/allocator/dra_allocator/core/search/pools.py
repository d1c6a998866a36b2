"""Pools of devices as one node sees them: which slices count, which pools are whole and sound.

A pool's slices are read once (`PoolSlices`) and kept until one of them changes; what a node sees
of them (`Pool`) may be kept too. Nothing here knows requests or what is in use.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import msgspec

from dra_allocator.core.search.attributes import Alike
from dra_allocator.core.search.devices import UNGROUPED, CounterName, PoolDevice, read_devices
from dra_allocator.core.search.features import Feature, Features
from dra_allocator.core.search.nodes import NodeView, selector_picks
from dra_allocator.core.search.shapes import Candidates, RequestShape
from dra_allocator.core.search.traits import Traits
from dra_shared.kube.devices import Device, ResourceSlice, ResourceSliceSpec
from dra_shared.quantity import QuantityError, parse_quantity


class PoolId(NamedTuple):
    """Names a pool; sorts as pools are searched."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class PoolFault(StrEnum):
    """Why nothing is taken from a pool."""

    INCOMPLETE = "incomplete"
    INVALID = "invalid"


class SliceOfPool(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A slice with its devices and counter sets read; `error` says why they could not be."""

    slice: ResourceSlice
    devices: tuple[PoolDevice, ...] = ()
    counters: dict[CounterName, int] = msgspec.field(default_factory=dict)
    error: str = ""

    @property
    def generation(self) -> int:
        """Which edition of the pool it belongs to."""
        return self.slice.spec.pool.generation


class PoolSlices:
    """All slices of one pool in the whole cluster, ordered by object name.

    `node_names` are the only nodes that can see the pool; None where selectors decide. Devices are
    read when they are first asked for: after a restart most editions have been replaced by then.
    """

    def __init__(self, id_: PoolId, slices: Iterable[ResourceSlice], features: Features) -> None:
        self.id = id_
        self.features = features
        self._slices = sorted(slices, key=lambda slice_: slice_.metadata.name)
        known = [slice_.spec for slice_ in self._slices if _is_known(slice_.spec, features)]
        names = [spec.node_name for spec in known]
        self.node_names = frozenset(name for name in names if name) if all(names) else None

    @cached_property
    def slices(self) -> tuple[SliceOfPool, ...]:
        """The slices, read."""
        return tuple(_read_slice(slice_, self.features) for slice_ in self._slices)


class Pool(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What one node sees of a pool. Bit i of a mask stands for `devices[i]`.

    `here`: devices that the node can reach; the others only show themselves to selectors, as
    upstream's do. `unfit`: devices that this node's kubelet cannot use. `counters` in nano units.
    `candidates`, `alike` and `traits` remember answers of the functions of these names, which
    depend on the pool alone.
    """

    id: PoolId
    devices: tuple[PoolDevice, ...] = ()
    here: int = 0
    unfit: int = 0
    counters: dict[CounterName, int] = msgspec.field(default_factory=dict)
    binds: bool = False
    fault: PoolFault | None = None
    fault_detail: str = ""
    index: dict[str, int] = msgspec.field(default_factory=dict)
    candidates: dict[RequestShape, Candidates] = msgspec.field(default_factory=dict)
    alike: dict[str, Alike] = msgspec.field(default_factory=dict)
    traits: Traits | None = None


def pools_for_node(
    slices: Iterable[ResourceSlice], node: NodeView, features: Features
) -> tuple[Pool, ...]:
    """Give the pools that the node sees, in the order in which they are searched.

    Slices are those of the whole cluster. Use `group_slices`, `seen_from` and `search_order`
    one by one to keep what did not change.
    """
    groups = group_slices(slices, features).values()
    return search_order(pool for group in groups if (pool := seen_from(group, node)) is not None)


def group_slices(
    slices: Iterable[ResourceSlice], features: Features
) -> Mapping[PoolId, PoolSlices]:
    """Give all slices by pool."""
    groups: dict[PoolId, list[ResourceSlice]] = {}
    for slice_ in slices:
        groups.setdefault(PoolId(slice_.spec.driver, slice_.spec.pool.name), []).append(slice_)
    return {id_: PoolSlices(id_, group, features) for id_, group in groups.items()}


def search_order(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """Give the pools ordered: those with binding conditions last, then by driver and name."""
    return tuple(sorted(pools, key=lambda pool: (pool.binds, pool.id)))


def seen_from(group: PoolSlices, node: NodeView) -> Pool | None:
    """Give what the node sees of the pool, None where it sees nothing (KEP-4381, KEP-4815)."""
    if group.node_names is not None and node.name not in group.node_names:
        return None
    seen = [one for one in group.slices if _is_seen(one.slice.spec, node, group.features)]
    if not seen:
        return None
    generation = max(one.generation for one in seen)
    seen = [one for one in seen if one.generation == generation]
    expected = seen[0].slice.spec.pool.resource_slice_count
    if len(seen) == expected:
        return _build(group, node, seen, seen)
    if any(one.generation > generation for one in group.slices):
        return None
    whole = [one for one in group.slices if one.generation == generation]
    if len(whole) != expected:
        detail = f"{len(whole)} of {expected} slices of generation {generation}"
        return _faulty(group.id, PoolFault.INCOMPLETE, detail, seen)
    return _build(group, node, seen, whole)


def reaches(device: PoolDevice, node: NodeView) -> bool:
    """Say whether the node can use a device of a slice that it sees."""
    spec = device.slice.spec
    return not spec.per_device_node_selection or _matches(device.device, node)


def _read_slice(slice_: ResourceSlice, features: Features) -> SliceOfPool:
    try:
        return SliceOfPool(
            slice=slice_,
            devices=read_devices(slice_, features),
            counters=_read_counters(slice_.spec),
        )
    except QuantityError as error:
        return SliceOfPool(slice=slice_, error=str(error))


def _read_counters(spec: ResourceSliceSpec) -> dict[CounterName, int]:
    return {
        CounterName(counters.name, name): parse_quantity(counter.value).nanos
        for counters in spec.shared_counters or ()
        for name, counter in counters.counters.items()
    }


def _is_known(spec: ResourceSliceSpec, features: Features) -> bool:
    """Say whether we understand how the slice is bound to nodes."""
    if Feature.PARTITIONABLE_DEVICES not in features and (
        spec.per_device_node_selection is not None or spec.shared_counters
    ):
        return False
    return bool(
        spec.node_name or spec.all_nodes or spec.node_selector or spec.per_device_node_selection
    )


def _is_seen(spec: ResourceSliceSpec, node: NodeView, features: Features) -> bool:
    if not _is_known(spec, features):
        return False
    if spec.node_name or spec.all_nodes or spec.node_selector:
        return _matches(spec, node)
    return any(_matches(device, node) for device in spec.devices or ())


def _matches(where: ResourceSliceSpec | Device, node: NodeView) -> bool:
    if where.node_name:
        return where.node_name == node.name
    if where.all_nodes:
        return True
    return where.node_selector is not None and selector_picks(where.node_selector, node)


def _build(
    group: PoolSlices, node: NodeView, seen: list[SliceOfPool], whole: list[SliceOfPool]
) -> Pool:
    devices = tuple(device for one in seen for device in one.devices)
    partitionable = Feature.PARTITIONABLE_DEVICES in group.features
    fault = _first_fault(seen, whole, partitionable=partitionable)
    if fault:
        return _faulty(group.id, PoolFault.INVALID, fault, seen)
    unfit = Feature.COMPATIBILITY_GROUPS not in group.features and _has_groups(whole)
    return Pool(
        id=group.id,
        devices=devices,
        here=_mask(reaches(device, node) for device in devices),
        unfit=_mask(unfit or _is_unfit(device, node, group.features) for device in devices),
        counters={name: amount for one in whole for name, amount in one.counters.items()},
        binds=any(device.device.binding_conditions is not None for device in devices),
        index={device.id.device: place for place, device in enumerate(devices)},
    )


def _faulty(id_: PoolId, fault: PoolFault, detail: str, seen: list[SliceOfPool]) -> Pool:
    """Give a pool from which nothing is taken; its devices are there to be counted only."""
    devices = tuple(device for one in seen for device in one.devices)
    return Pool(id=id_, devices=devices, fault=fault, fault_detail=detail)


def _is_unfit(device: PoolDevice, node: NodeView, features: Features) -> bool:
    """Say whether the device needs node operations skipped that would not be (KEP-5945)."""
    skipped = device.slice.spec.skip_node_operations
    on = Feature.OPTIONAL_NODE_OPERATIONS in features
    return bool(skipped) and not (on and node.honours_skipped_operations)


def _has_groups(whole: list[SliceOfPool]) -> bool:
    """Say whether the pool can only be used by those who know compatibility groups (KEP-5729)."""
    devices = (device for one in whole for device in one.devices)
    return any(groups != UNGROUPED for device in devices for groups in device.groups.values())


def _mask(flags: Iterable[bool]) -> int:
    return sum(1 << place for place, flag in enumerate(flags) if flag)


def _first_fault(seen: list[SliceOfPool], whole: list[SliceOfPool], *, partitionable: bool) -> str:
    """Say what makes the pool invalid, in the words of its driver's author; empty if nothing does."""
    for one in whole:
        if one.error:
            return one.error
    names = [device.id.device for one in seen for device in one.devices]
    if (twice := _first_duplicate(names)) is not None:
        return f"device {twice} is there twice"
    return _counter_fault(whole) if partitionable else ""


def _counter_fault(whole: list[SliceOfPool]) -> str:
    sets = [counters for one in whole for counters in one.slice.spec.shared_counters or ()]
    if (twice := _first_duplicate(counters.name for counters in sets)) is not None:
        return f"counter set {twice} is there twice"
    known = {counters.name: counters.counters for counters in sets}
    for device in (device for one in whole for device in one.devices):
        for consumption in device.device.consumes_counters or ():
            missing = consumption.counters.keys() - known.get(consumption.counter_set, {}).keys()
            if missing or consumption.counter_set not in known:
                counter = min(missing, default="")
                return f"device {device.id.device} consumes {consumption.counter_set}/{counter}, which is not there"
    return ""


def _first_duplicate(names: Iterable[str]) -> str | None:
    known: set[str] = set()
    for name in names:
        if name in known:
            return name
        known.add(name)
    return None
