"""One device of a pool, read once and kept as long as its slice does not change.

Everything here is independent of nodes, requests and of what is in use.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

import kube_cel
from dra_allocator.core.search.capacity import Capacity, read_capacity
from dra_allocator.core.search.features import Feature, Features
from dra_shared.events.allocations import Cost
from dra_shared.ids import DeviceId
from dra_shared.kube.devices import Device, DeviceTaint, ResourceSlice
from dra_shared.quantity import parse_quantity

BLOCKING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
"""Taints of other effects, and of effects we do not know, keep nobody away (KEP-5055)."""

UNGROUPED: Final = frozenset({""})
"""The compatibility groups of a device that names none: it goes only with its like (KEP-5729)."""


class CounterName(NamedTuple):
    """One counter of a pool."""

    counter_set: str
    counter: str

    def __str__(self) -> str:
        return f"{self.counter_set}/{self.counter}"


class PoolDevice(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A device as the search needs it; `counters` in nano units, `taints` only those that block.

    `unsupported` says why no request may have it while some feature is off; `hidden` is the same
    for devices that are not even shown to selectors. `is_sound`: selectors surely meet no error in
    its values.
    """

    id: DeviceId
    device: Device
    slice: ResourceSlice
    is_sound: bool
    shareable: bool
    capacities: dict[str, Capacity]
    counters: dict[CounterName, int]
    groups: dict[str, frozenset[str]]
    taints: tuple[DeviceTaint, ...]
    hidden: str = ""
    unsupported: str = ""
    _cel: kube_cel.Device | kube_cel.EvaluationError | None = None
    _cost: Cost | None = None

    @property
    def cel(self) -> kube_cel.Device | kube_cel.EvaluationError:
        """What selectors see, or the error that they meet; read when a selector first asks."""
        found = self._cel
        if found is None:
            found = _shown(self.id.driver, self.device)
            msgspec.structs.force_setattr(self, "_cel", found)
        return found

    @property
    def cost(self) -> Cost:
        """What it takes to have all of it; the same object each time."""
        found = self._cost
        if found is None:
            found = _cost(self)
            msgspec.structs.force_setattr(self, "_cost", found)
        return found


def cost_of(device: PoolDevice, share: str | None, capacity: dict[str, str]) -> Cost:
    """Give what a result takes that is no admin access. What all shares have in common is shared."""
    whole = device.cost
    if share is None and not capacity:
        return whole
    return Cost(
        device=whole.device,
        share_id=share,
        capacity=capacity,
        counters=whole.counters,
        compatibility_groups=whole.compatibility_groups,
    )


def read_devices(slice_: ResourceSlice, features: Features) -> tuple[PoolDevice, ...]:
    """Give the slice's devices in its order. Raises QuantityError."""
    return tuple(_read(slice_, device, features) for device in slice_.spec.devices or ())


def _read(slice_: ResourceSlice, device: Device, features: Features) -> PoolDevice:
    sharing = Feature.CONSUMABLE_CAPACITY in features
    fractional = Feature.FRACTIONAL_CAPACITY in features
    return PoolDevice(
        id=DeviceId(slice_.spec.driver, slice_.spec.pool.name, device.name),
        device=device,
        slice=slice_,
        is_sound=_is_sound(device),
        shareable=sharing and bool(device.allow_multiple_allocations),
        capacities={
            name: read_capacity(capacity, fractional=fractional)
            for name, capacity in (device.capacity or {}).items()
            if sharing
        },
        counters=dict(_counters(device)),
        groups={
            consumption.counter_set: frozenset(consumption.compatibility_groups or UNGROUPED)
            for consumption in device.consumes_counters or ()
        },
        taints=tuple(_blocking_taints(device, features)),
        hidden=_hidden(device, features),
        unsupported=_unsupported(device, features),
    )


def _cost(device: PoolDevice) -> Cost:
    return Cost(
        device=device.id,
        counters={
            consumption.counter_set: {
                name: counter.value for name, counter in consumption.counters.items()
            }
            for consumption in device.device.consumes_counters or ()
        },
        compatibility_groups={
            name: tuple(sorted(groups))
            for name, groups in device.groups.items()
            if groups != UNGROUPED
        },
    )


def _shown(driver: str, device: Device) -> kube_cel.Device | kube_cel.EvaluationError:
    try:
        return kube_cel.device_from(
            driver,
            msgspec.to_builtins(device.attributes or {}),
            msgspec.to_builtins(device.capacity or {}),
            allow_multiple_allocations=device.allow_multiple_allocations,
        )
    except kube_cel.EvaluationError as error:
        return error


def _is_sound(device: Device) -> bool:
    """Versions are read to know; all other values are what they are."""
    for attribute in (device.attributes or {}).values():
        if attribute.version is not None or attribute.versions is not None:
            return False
        if attribute.string is None and attribute.integer is None and attribute.boolean is None:
            return False
    return all(_is_quantity(capacity.value) for capacity in (device.capacity or {}).values())


@lru_cache(maxsize=4096)
def _is_quantity(text: str) -> bool:
    try:
        kube_cel.device_from("", {}, {"any": {"value": text}})
    except kube_cel.EvaluationError:
        return False
    return True


def _counters(device: Device) -> Iterator[tuple[CounterName, int]]:
    for consumption in device.consumes_counters or ():
        for name, counter in consumption.counters.items():
            yield CounterName(consumption.counter_set, name), parse_quantity(counter.value).nanos


def _blocking_taints(device: Device, features: Features) -> Iterator[DeviceTaint]:
    if Feature.DEVICE_TAINTS in features:
        yield from (taint for taint in device.taints or () if taint.effect in BLOCKING_EFFECTS)


def _hidden(device: Device, features: Features) -> str:
    if device.binding_conditions and Feature.BINDING_CONDITIONS not in features:
        return "needs binding conditions, which are off"
    return ""


def _unsupported(device: Device, features: Features) -> str:
    if device.consumes_counters and Feature.PARTITIONABLE_DEVICES not in features:
        return "consumes counters, which are off"
    return ""
