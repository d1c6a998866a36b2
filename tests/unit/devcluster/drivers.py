"""A DRA driver for tests of the kubelet stand-in: real sockets and gRPC, devices made of CDI files.

It does what it is told and remembers what it was asked. No devices, no Kubernetes.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import msgspec

from dra_shared.kubelet_api import (
    dra_v1_pb2,
    dra_v1_pb2_grpc,
    dra_v1beta1_pb2,
    dra_v1beta1_pb2_grpc,
    registration_pb2,
    registration_pb2_grpc,
)

DRIVER = "gpu.example.com"
SERVICES: dict[str, tuple[Any, Any]] = {
    "v1.DRAPlugin": (dra_v1_pb2, dra_v1_pb2_grpc),
    "v1beta1.DRAPlugin": (dra_v1beta1_pb2, dra_v1beta1_pb2_grpc),
}


class Driver:
    """One driver on one node: ``fails`` is the error it answers with, ``""`` for none."""

    def __init__(self, folder: Path, versions: tuple[str, ...], kind: str) -> None:
        self.folder = folder
        self.versions = versions
        self.kind = kind
        self.fails = ""
        self.prepared: list[str] = []
        self.unprepared: list[str] = []
        self.registered = False
        self.refusal = ""

    @property
    def endpoint(self) -> Path:
        return self.folder / "plugins" / DRIVER / "dra.sock"

    @property
    def registration_socket(self) -> Path:
        return self.folder / "plugins_registry" / f"{DRIVER}-reg.sock"

    def GetInfo(self, _request: Any, _context: Any) -> Any:  # noqa: N802 - gRPC's name
        return registration_pb2.PluginInfo(
            type=self.kind,
            name=DRIVER,
            endpoint=str(self.endpoint),
            supported_versions=self.versions,
        )

    def NotifyRegistrationStatus(self, request: Any, _context: Any) -> Any:  # noqa: N802
        self.refusal = request.error
        if request.plugin_registered:
            self.registered = True
        return registration_pb2.RegistrationStatusResponse()

    def write_cdi(self, uid: str) -> str:
        """One CDI device for a claim; returns its id."""
        spec = {
            "cdiVersion": "0.5.0",
            "kind": f"k8s.{DRIVER}/gpu",
            "containerEdits": {"env": ["COMMON=yes"]},
            "devices": [
                {
                    "name": uid,
                    "containerEdits": {
                        "env": [f"GPU_CLAIM={uid}"],
                        "deviceNodes": [{"path": "/dev/gpu0"}],
                    },
                }
            ],
        }
        path = self.folder / "cdi" / f"{uid}.json"
        path.write_bytes(msgspec.json.encode(spec))
        return f"k8s.{DRIVER}/gpu={uid}"


class Service:
    """The DRA service in one version."""

    def __init__(self, driver: Driver, messages: Any) -> None:
        self._driver = driver
        self._messages = messages

    def NodePrepareResources(self, request: Any, _context: Any) -> Any:  # noqa: N802
        answer = self._messages.NodePrepareResourcesResponse()
        for claim in request.claims:
            self._driver.prepared.append(claim.uid)
            if self._driver.fails:
                answer.claims[claim.uid].error = self._driver.fails
                continue
            device = answer.claims[claim.uid].devices.add(pool_name="node-a", device_name="gpu-0")
            device.request_names.append("gpu")
            device.cdi_device_ids.append(self._driver.write_cdi(claim.uid))
        return answer

    def NodeUnprepareResources(self, request: Any, _context: Any) -> Any:  # noqa: N802
        answer = self._messages.NodeUnprepareResourcesResponse()
        for claim in request.claims:
            self._driver.unprepared.append(claim.uid)
            answer.claims[claim.uid].error = self._driver.fails
        return answer


@contextmanager
def running(
    folder: Path, versions: tuple[str, ...] = ("v1.DRAPlugin",), kind: str = "DRAPlugin"
) -> Iterator[Driver]:
    """A driver below a node's folder; its sockets are gone afterwards."""
    driver = Driver(folder, versions, kind)
    driver.endpoint.parent.mkdir(parents=True, exist_ok=True)
    driver.registration_socket.parent.mkdir(parents=True, exist_ok=True)
    servers = [grpc.server(ThreadPoolExecutor(2)) for _ in range(2)]
    for version in versions:
        if version in SERVICES:
            messages, stubs = SERVICES[version]
            stubs.add_DRAPluginServicer_to_server(Service(driver, messages), servers[0])
    registration_pb2_grpc.add_RegistrationServicer_to_server(driver, servers[1])  # type: ignore[no-untyped-call] # generated
    for server, path in zip(servers, (driver.endpoint, driver.registration_socket), strict=True):
        server.add_insecure_port(f"unix://{path}")
        server.start()
    try:
        yield driver
    finally:
        for server in reversed(servers):
            server.stop(0).wait()
        for path in (driver.registration_socket, driver.endpoint):
            path.unlink(missing_ok=True)
