"""Which DRA drivers a node has: registration sockets that appear, answer, and go.

The folder is looked at several times a second instead of by inotify; the conversation is the
kubelet's own (plugin registration v1).
"""

import asyncio
from pathlib import Path
from typing import Final

import grpc
import msgspec
import structlog

from dra_devcluster.kubelet.driver import VERSIONS, Driver
from dra_shared.kubelet_api import registration_pb2, registration_pb2_grpc

DRA_TYPE: Final = "DRAPlugin"
SCAN_SECONDS: Final = 0.2
GET_INFO_SECONDS: Final = 1.0
NOTIFY_SECONDS: Final = 5.0
LONGEST_PAUSE: Final = 10.0
log = structlog.get_logger()


class Socket(msgspec.Struct, frozen=True):
    """A socket file; one that was replaced is another."""

    path: Path
    inode: int
    changed: int


class PluginRefusedError(Exception):
    """The plugin says something that a kubelet would not take. Its author must act."""


class PluginRegistry:
    """The drivers of one node; ``driver(name)`` is whom to talk to."""

    def __init__(self, node: str, folder: Path) -> None:
        self._node = node
        self._folder = folder
        self._drivers: dict[Socket, Driver] = {}
        self._attempts: dict[Socket, tuple[int, float]] = {}
        self.names: set[str] = set()
        """Every driver name that ever registered here."""

    def driver(self, name: str) -> Driver | None:
        """The driver's latest registered instance that is connected, or None."""
        instances = [one for one in self._drivers.values() if one.name == name and one.is_usable()]
        return instances[-1] if instances else None

    async def run(self) -> None:
        """Keep up with the folder until cancelled."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            while True:
                await self.scan()
                await asyncio.sleep(SCAN_SECONDS)
        finally:
            for driver in self._drivers.values():
                await driver.close()

    async def scan(self) -> None:
        """Look at the folder once: drop what went, register what came."""
        present = sockets_in(self._folder)
        for socket in set(self._drivers) - set(present):
            gone = self._drivers.pop(socket)
            log.info("driver deregistered", node=self._node, driver=gone.name)
            await gone.close()
        self._attempts = {one: tried for one, tried in self._attempts.items() if one in present}
        for socket in present:
            if socket not in self._drivers and self._is_due(socket):
                await self._try(socket)

    def _is_due(self, socket: Socket) -> bool:
        _, not_before = self._attempts.get(socket, (0, 0.0))
        return asyncio.get_running_loop().time() >= not_before

    async def _try(self, socket: Socket) -> None:
        try:
            self._drivers[socket] = driver = await self._register(socket)
        except (grpc.aio.AioRpcError, TimeoutError, PluginRefusedError) as failed:
            tried = self._attempts.get(socket, (0, 0.0))[0] + 1
            pause = min(LONGEST_PAUSE, SCAN_SECONDS * 2**tried)
            self._attempts[socket] = (tried, asyncio.get_running_loop().time() + pause)
            log.warning(
                "plugin not registered, trying again",
                node=self._node,
                socket=str(socket.path),
                attempt=tried,
                reason=failed.details()
                if isinstance(failed, grpc.aio.AioRpcError)
                else str(failed),
            )
        else:
            self.names.add(driver.name)
            log.info("driver registered", node=self._node, driver=driver.name, api=driver.version)

    async def _register(self, socket: Socket) -> Driver:
        async with grpc.aio.insecure_channel(f"unix://{socket.path.absolute()}") as channel:
            stub = registration_pb2_grpc.RegistrationStub(channel)  # type: ignore[no-untyped-call] # generated
            info = await stub.GetInfo(registration_pb2.InfoRequest(), timeout=GET_INFO_SECONDS)
            try:
                driver = self._driver_from(info, socket)
            except PluginRefusedError as refused:
                status = registration_pb2.RegistrationStatus(error=str(refused))
                await stub.NotifyRegistrationStatus(status, timeout=NOTIFY_SECONDS)
                raise
            await driver.connect()
            status = registration_pb2.RegistrationStatus(plugin_registered=True)
            await stub.NotifyRegistrationStatus(status, timeout=NOTIFY_SECONDS)
            return driver

    def _driver_from(self, info: registration_pb2.PluginInfo, socket: Socket) -> Driver:
        if info.type != DRA_TYPE:
            raise PluginRefusedError(f"plugins of type {info.type!r} are not known here")
        if not info.name:
            raise PluginRefusedError("a plugin must have a name")
        known = [version for version in info.supported_versions if version in VERSIONS]
        if not known:
            offered = list(info.supported_versions)
            raise PluginRefusedError(f"none of {offered} is among {sorted(VERSIONS)}")
        endpoint = info.endpoint or str(socket.path.absolute())
        if any((one.name, one.endpoint) == (info.name, endpoint) for one in self._drivers.values()):
            raise PluginRefusedError(f"{info.name} is already registered at {endpoint}")
        return Driver(info.name, endpoint, known[0])


def sockets_in(folder: Path) -> list[Socket]:
    """The sockets in a folder, oldest first; hidden names are left out."""
    found = []
    for path in folder.iterdir():
        try:
            if path.is_socket() and not path.name.startswith("."):
                entry = path.stat()
                found.append(Socket(path, entry.st_ino, entry.st_ctime_ns))
        except FileNotFoundError:
            continue
    return sorted(found, key=lambda one: (one.changed, one.path))
