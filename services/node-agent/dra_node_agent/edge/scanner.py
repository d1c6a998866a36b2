"""The seam to devices: what finds them, sets them up for a claim and undoes that."""

from typing import Protocol

from dra_node_agent.core.inventory import Inventory
from dra_node_agent.core.record import PlannedDevice


class DeviceError(Exception):
    """A device did not do what was asked; trying again may help."""

    def __init__(self, device: PlannedDevice, why: str) -> None:
        super().__init__(f"device {device.device} ({device.identity}): {why}")
        self.device = device.device


class ScanError(Exception):
    """The devices cannot be listed now; what was found before stays valid."""


class Scanner(Protocol):
    """The devices of one driver on this node."""

    async def scan(self) -> Inventory:
        """All devices there are now; raises ScanError."""
        ...

    async def set_up(self, claim: str, device: PlannedDevice) -> None:
        """Makes a device ready for the claim (uid); nothing if it is. Raises DeviceError."""
        ...

    async def tear_down(self, claim: str, device: PlannedDevice) -> None:
        """Undoes what was set up, be it all, half or nothing. Raises DeviceError."""
        ...
