"""The devices of one driver as found on the node, and how a list of them is read from a file.

A device is known by its identity (serial or bus id). Entries without one are left out and named
in a warning: nothing is ever borrowed from a neighbour.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from dra_shared.events.nodes import Severity
from dra_shared.kube.devices import CounterSet, Device


class Fault(msgspec.Struct, frozen=True, kw_only=True, order=True, omit_defaults=True):
    """Something that is wrong with a device now."""

    cause: str
    severity: Severity
    message: str = ""


class FoundDevice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A device as found: who it is, how it is offered, what a container gets, what is wrong."""

    identity: str
    device: Device
    device_nodes: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()


class Inventory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All devices of one driver on the node, preferred ones first."""

    devices: tuple[FoundDevice, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()

    def find(self, name: str) -> FoundDevice | None:
        """The device of that name."""
        return next((found for found in self.devices if found.device.name == name), None)


class InventoryError(Exception):
    """The inventory file cannot be read; whoever wrote it must correct it."""


class _Entry(Device, frozen=True, kw_only=True, forbid_unknown_fields=True):
    serial: str
    device_nodes: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()


class _Driver(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    devices: tuple[msgspec.Raw, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()


_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def decode_inventories(data: bytes) -> tuple[Mapping[str, Inventory], tuple[str, ...]]:
    """Inventories by driver, and a warning for each entry that had to be left out.

    The file is `{driver: {"devices": [...], "counterSets": [...]}}`; a device is a
    ResourceSlice device with `serial`, and may have `deviceNodes` and `faults`. Raises
    InventoryError when it is no such file at all.
    """
    try:
        drivers = msgspec.json.decode(data, type=dict[str, _Driver])
    except msgspec.DecodeError as error:
        raise InventoryError(str(error)) from error
    warnings: list[str] = []
    inventories = {
        name: Inventory(
            devices=tuple(_found(name, driver.devices, warnings)), counter_sets=driver.counter_sets
        )
        for name, driver in drivers.items()
    }
    return inventories, tuple(warnings)


def _found(
    driver: str, entries: tuple[msgspec.Raw, ...], warnings: list[str]
) -> Iterator[FoundDevice]:
    seen: set[str] = set()
    for index, raw in enumerate(entries):
        place = f"device {index} of {driver}"
        try:
            entry = msgspec.json.decode(raw, type=_Entry)
        except msgspec.DecodeError as error:
            warnings.append(f"{place} is left out: {error}")
            continue
        ids = {f"serial {entry.serial}", f"name {entry.name}"}
        if why := _unfit(entry, ids & seen):
            warnings.append(f"{place} ({entry.name}) is left out: {why}")
            continue
        seen |= ids
        yield _as_found(entry)


def _unfit(entry: _Entry, taken: set[str]) -> str:
    if taken:
        return f"its {min(taken)} is taken by a device before it"
    if not entry.serial:
        return "its serial is empty"
    if not _NAME.fullmatch(entry.name):
        return "its name is no DNS label, the API server would refuse the whole slice"
    return ""


def _as_found(entry: _Entry) -> FoundDevice:
    fields: dict[str, Any] = {name: getattr(entry, name) for name in Device.__struct_fields__}
    return FoundDevice(
        identity=entry.serial,
        device=Device(**fields),
        device_nodes=entry.device_nodes,
        faults=entry.faults,
    )
