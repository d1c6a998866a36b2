"""The devices of one driver on one node as slices that the Kubernetes API accepts.

Order is kept: it is the order in which first-fit allocators take devices. Counter sets stand in
slices of their own, before the devices (Kubernetes 1.35 and later).
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec

from dra_inventory.core.nodes import Fault, Node
from dra_shared.events.nodes import Severity
from dra_shared.kube.devices import (
    MAX_COUNTER_SETS_PER_SLICE,
    MAX_DEVICES_PER_SLICE,
    MAX_DEVICES_PER_SLICE_WITH_EXTRAS,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceTaint,
    ResourcePool,
    ResourceSliceSpec,
)

EFFECTS: Final = {
    Severity.NOTE: "None",
    Severity.DEGRADED: "NoSchedule",
    Severity.CRITICAL: "NoExecute",
}
"""What a fault does to claims (KEP-5055)."""


def slices(node: Node, driver: str, generation: int) -> tuple[ResourceSliceSpec, ...]:
    """All slices of the driver's pool on the node; at least one, which may be empty."""
    report = node.reports[driver]
    faults = node.faults.get(driver, ())
    devices = [_offered(driver, reported.device, faults) for reported in report.devices]
    parts: list[tuple[tuple[CounterSet, ...], tuple[Device, ...]]] = [
        *((sets, ()) for sets in _chunks(report.counter_sets)),
        *(((), chunk) for chunk in _device_chunks(devices)),
    ]
    pool = ResourcePool(
        name=node.name, generation=generation, resource_slice_count=max(1, len(parts))
    )
    return tuple(
        ResourceSliceSpec(
            driver=driver,
            pool=pool,
            node_name=node.name,
            devices=devices or None,
            shared_counters=sets or None,
        )
        for sets, devices in parts or [((), ())]
    )


def _offered(driver: str, device: Device, faults: Iterable[Fault]) -> Device:
    taints = tuple(
        DeviceTaint(
            key=f"{driver}/{fault.cause}",
            value="true",
            effect=EFFECTS[fault.severity],
            time_added=fault.since,
        )
        for fault in faults
        if fault.device == device.name
    )
    return msgspec.structs.replace(
        device,
        taints=((device.taints or ()) + taints) or None,
        attributes=_canonical(driver, device.attributes or {}) or None,
    )


def _canonical(driver: str, attributes: dict[str, DeviceAttribute]) -> dict[str, DeviceAttribute]:
    """One spelling per attribute: without the driver's own domain, which wins over the long one."""
    prefix = f"{driver}/"
    return {name.removeprefix(prefix): value for name, value in attributes.items()} | {
        name: value for name, value in attributes.items() if not name.startswith(prefix)
    }


def _device_chunks(devices: Iterable[Device]) -> Iterator[tuple[Device, ...]]:
    chunk: list[Device] = []
    extras = False
    for device in devices:
        extras = extras or _needs_room(device)
        limit = MAX_DEVICES_PER_SLICE_WITH_EXTRAS if extras else MAX_DEVICES_PER_SLICE
        if len(chunk) >= limit:
            yield tuple(chunk)
            chunk, extras = [], _needs_room(device)
        chunk.append(device)
    if chunk:
        yield tuple(chunk)


def _needs_room(device: Device) -> bool:
    """Whether the API allows fewer devices beside this one."""
    lists = any(
        value.ints or value.bools or value.strings or value.versions
        for value in (device.attributes or {}).values()
    )
    return bool(device.taints or device.consumes_counters or lists)


def _chunks(sets: Iterable[CounterSet]) -> Iterator[tuple[CounterSet, ...]]:
    rest = iter(sets)
    while chunk := tuple(islice(rest, MAX_COUNTER_SETS_PER_SLICE)):
        yield chunk
