"""The two gRPC servers of a driver on their unix sockets: when they listen, and when no more.

The plugin's socket answers before the registration socket appears, and outlives it: the kubelet
never knows of a plugin that it cannot reach.
"""

from pathlib import Path
from typing import Final

import grpc
from grpc_health.v1 import health, health_pb2_grpc  # type: ignore[import-untyped] # no stubs

from dra_node_agent.core.sockets import SocketPaths
from dra_node_agent.edge.health_stream import HealthStream
from dra_node_agent.edge.plugin import Plugin
from dra_node_agent.edge.services import PluginService, Registered, Registration
from dra_shared.kubelet_api import (
    dra_v1_pb2,
    dra_v1_pb2_grpc,
    dra_v1beta1_pb2,
    dra_v1beta1_pb2_grpc,
    health_v1alpha1_pb2_grpc,
    registration_pb2_grpc,
)
from dra_shared.runtime.settings import SettingsError

GRACE: Final = 1.0
"""Seconds that calls get to end when the agent stops."""


class PluginServers:
    """The two servers of one driver."""

    def __init__(self, plugin: Plugin, paths: SocketPaths, registered: Registered) -> None:
        self._plugin_path = Path(paths.plugin)
        self._registration_path = Path(paths.registration)
        self._plugin = _plugin_server(plugin)
        self._registration = grpc.aio.server()
        registration_pb2_grpc.add_RegistrationServicer_to_server(  # type: ignore[no-untyped-call] # generated
            Registration(plugin.driver, paths.plugin, registered), self._registration
        )
        self._own: dict[Path, int] = {}

    async def start(self) -> None:
        """Listens on the plugin's socket, then on the registration socket; raises SettingsError."""
        await self._listen(self._plugin, self._plugin_path)
        await self._listen(self._registration, self._registration_path)

    async def stop(self) -> None:
        """Takes the registration back, lets calls end, then stops listening."""
        self._unlink(self._registration_path)
        await self._registration.stop(GRACE)
        await self._plugin.stop(GRACE)
        self._unlink(self._plugin_path)

    async def _listen(self, server: grpc.aio.Server, path: Path) -> None:
        _clear(path)
        server.add_insecure_port(f"unix:{path}")
        await server.start()
        self._own[path] = _inode(path)

    def _unlink(self, path: Path) -> None:
        """Removes the socket, unless a newer agent's has taken its place."""
        try:
            if _inode(path) == self._own.get(path):
                path.unlink()
        except FileNotFoundError:
            pass


def _inode(path: Path) -> int:
    return path.stat().st_ino


def _clear(path: Path) -> None:
    """Makes room for a socket: an agent that was killed leaves a stale one. Raises SettingsError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
    except OSError as error:
        message = (
            f"no socket can be made at {path}: {error.strerror}; see "
            "KUBELET_REGISTRAR_DIRECTORY_PATH and KUBELET_PLUGINS_DIRECTORY_PATH"
        )
        raise SettingsError(message) from error


def _plugin_server(plugin: Plugin) -> grpc.aio.Server:
    server = grpc.aio.server()
    dra_v1_pb2_grpc.add_DRAPluginServicer_to_server(PluginService(plugin, dra_v1_pb2), server)  # type: ignore[no-untyped-call] # generated
    dra_v1beta1_pb2_grpc.add_DRAPluginServicer_to_server(
        PluginService(plugin, dra_v1beta1_pb2), server
    )  # type: ignore[no-untyped-call] # generated
    health_v1alpha1_pb2_grpc.add_DRAResourceHealthServicer_to_server(  # type: ignore[no-untyped-call] # generated
        HealthStream(plugin, plugin.node), server
    )
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
    return server
