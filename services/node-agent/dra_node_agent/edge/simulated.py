"""Devices that are files: what was done to a device in this boot is a list of lines.

A device with claims is away from home, as a network interface would be that was moved into a
pod. The lines show tests and people what was set up, how often and for whom.
"""

import os
from enum import StrEnum
from pathlib import Path

import msgspec
import structlog

from dra_node_agent.core.inventory import Inventory, InventoryError, decode_inventories
from dra_node_agent.core.plan import Driver
from dra_node_agent.core.profiles.profile import Sizes
from dra_node_agent.core.record import PlannedDevice
from dra_node_agent.edge.faults import FaultPoints, Point
from dra_node_agent.edge.scanner import DeviceError, ScanError

_log = structlog.get_logger()


class Done(StrEnum):
    """What was done to a device."""

    SET_UP = "set_up"
    TORN_DOWN = "torn_down"


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was done to a device."""

    boot: str
    done: Done
    claim: str
    share: str | None = None


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """Where simulated devices are kept and what there is. A file of inventories replaces sizes."""

    node: str
    boot_id: str
    directory: Path
    sizes: Sizes
    inventory_file: Path | None = None


class SimulatedDevices:
    """A Scanner of one simulated driver."""

    def __init__(self, driver: Driver, hardware: Hardware, faults: FaultPoints) -> None:
        self._driver = driver
        self._hardware = hardware
        self._faults = faults
        self._warned: tuple[str, ...] = ()

    async def scan(self) -> Inventory:
        """See Scanner."""
        path = self._hardware.inventory_file
        if path is None:
            return self._driver.profile.inventory(self._hardware.node, self._hardware.sizes)
        try:
            inventories, warnings = decode_inventories(path.read_bytes())
        except (OSError, InventoryError) as error:
            message = f"INVENTORY_FILE={path} cannot be read: {error}"
            raise ScanError(message) from error
        for warning in warnings if warnings != self._warned else ():
            _log.warning("inventory entry left out", file=str(path), warning=warning)
        self._warned = warnings
        return inventories.get(self._driver.name, Inventory())

    async def set_up(self, claim: str, device: PlannedDevice) -> None:
        """See Scanner."""
        if (claim, device.share_id) in self._holders(device):
            return
        await self._apply(Point.SET_UP, Done.SET_UP, claim, device)
        await self._reach(Point.SET_UP_DONE, claim, device)

    async def tear_down(self, claim: str, device: PlannedDevice) -> None:
        """See Scanner."""
        if (claim, device.share_id) not in self._holders(device):
            return
        await self._apply(Point.TEAR_DOWN, Done.TORN_DOWN, claim, device)
        await self._reach(Point.TEAR_DOWN_DONE, claim, device)

    async def _apply(self, point: Point, done: Done, claim: str, device: PlannedDevice) -> None:
        await self._reach(point, claim, device)
        line = Line(boot=self._hardware.boot_id, done=done, claim=claim, share=device.share_id)
        path = self._file(device)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(msgspec.json.encode(line) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DeviceError(device, str(error)) from error

    async def _reach(self, point: Point, claim: str, device: PlannedDevice) -> None:
        try:
            await self._faults.reach(point, self._driver.name, claim, device.device)
        except OSError as error:
            raise DeviceError(device, str(error)) from error

    def _holders(self, device: PlannedDevice) -> set[tuple[str, str | None]]:
        holders: set[tuple[str, str | None]] = set()
        for line in self._lines(device):
            if line.boot != self._hardware.boot_id:
                continue
            if line.done is Done.SET_UP:
                holders.add((line.claim, line.share))
            else:
                holders.discard((line.claim, line.share))
        return holders

    def _lines(self, device: PlannedDevice) -> list[Line]:
        try:
            return msgspec.json.Decoder(Line).decode_lines(self._file(device).read_bytes())
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            raise DeviceError(device, str(error)) from error

    def _file(self, device: PlannedDevice) -> Path:
        return self._hardware.directory / self._driver.name / f"{device.device}.jsonl"
