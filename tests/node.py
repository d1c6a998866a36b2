"""A node for tests: an agent in its own process, directories of its own, a kubelet that calls it."""

import copy
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc
import msgspec
from node_facts import GPU, Allocator
from processes import LEAN, environment
from waiting import until

from dra_shared.ids import ObjectRef
from dra_shared.kubelet_api import (
    dra_v1_pb2,
    dra_v1_pb2_grpc,
    registration_pb2,
    registration_pb2_grpc,
)
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect


class Node:
    """One node, the log that its agent talks to, and an allocator that gives its devices away."""

    def __init__(self, nats_url: str, name: str = "node-a", **settings: str) -> None:
        self.name = name
        self._nats_url = nats_url
        self.root = Path(tempfile.mkdtemp(prefix="node-"))
        self.cdi = self.root / "cdi"
        self.state = self.root / "state"
        self.boot = self.root / "boot"
        self.boot.write_text("boot-1\n")
        self._faults = self.root / "faults.json"
        self._process: subprocess.Popen[bytes] | None = None
        self.environment = {
            **environment(nats_url, **LEAN),
            "NODE_NAME": name,
            "STATE_DIR": str(self.state),
            "CDI_ROOT": str(self.cdi),
            "KUBELET_REGISTRAR_DIRECTORY_PATH": str(self.root / "reg"),
            "KUBELET_PLUGINS_DIRECTORY_PATH": str(self.root / "plugins"),
            "BOOT_ID_FILE": str(self.boot),
            "FAULTS_FILE": str(self._faults),
            "SCAN_SECONDS": "0.2",
            **settings,
        }

    async def __aenter__(self) -> Self:
        self.log = JetStreamLog(await connect(self._nats_url, "test"))
        await self.log.ensure_stream()
        self.allocator = Allocator(self.log, self.name)
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.kill()
        await self.log.close()
        if error is not None:
            sys.stderr.write(self.output())
        shutil.rmtree(self.root)

    async def start(self) -> None:
        """Starts the agent and waits until it serves all its drivers."""
        self.launch()
        await until(self._serves_all, "the agent serves all its drivers", within=20)

    def launch(self) -> None:
        """Starts the agent."""
        with (self.root / "agent.err").open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dra_node_agent"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )

    def set(self, variable: str, value: str) -> None:
        """Tells the next agent something else."""
        self.environment[variable] = value

    def successor(self, pod_uid: str) -> "Node":
        """The same node as seen by the agent of another pod; not started."""
        other = copy.copy(self)
        other._process = None
        other.environment = {**self.environment, "POD_UID": pod_uid}
        return other

    @property
    def drivers(self) -> tuple[str, ...]:
        """The drivers that the agent was told to serve."""
        profiles = self.environment.get("DRA_PROFILES", "gpu")
        return tuple(f"{profile}.example.com" for profile in profiles.split(","))

    def kill(self) -> None:
        """Ends the agent at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> int:
        """Ends the agent in good order; its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(timeout=15)
        self._process = None
        return code

    async def died(self) -> bool:
        """Whether the agent is no more."""
        return self._process is None or self._process.poll() is not None

    def reboot(self) -> None:
        """Kills the agent and boots the node: the next agent sees another boot id."""
        self.kill()
        number = int(self.boot.read_text().strip().removeprefix("boot-"))
        self.boot.write_text(f"boot-{number + 1}\n")

    def faults(self, *faults: Mapping[str, str]) -> None:
        """Switches these faults on, and all others off."""
        temporary = self._faults.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(faults))
        temporary.rename(self._faults)

    def output(self) -> str:
        """What the agents wrote to their log so far."""
        return (self.root / "agent.err").read_text()

    def registration_socket(self, driver: str) -> Path:
        """Where the kubelet finds the driver."""
        pod_uid = self.environment.get("POD_UID", "")
        name = f"{driver}-{pod_uid}" if pod_uid else driver
        return self.root / "reg" / f"{name}-reg.sock"

    def rows(self, phase: str = "") -> list[tuple[str, str, str]]:
        """The ledger's claims (uid, driver, phase) that hold devices, or those in a phase."""
        path = self.state / "ledger.sqlite"
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            rows = database.execute("SELECT uid, driver, phase FROM claims").fetchall()
        finally:
            database.close()
        return sorted(row for row in rows if row[2] == phase or (not phase and row[2] != "gone"))

    def claim_files(self) -> dict[str, bytes]:
        """All files in the CDI directory but the drivers' own, hidden ones too, by name."""
        return {
            path.name: path.read_bytes()
            for path in sorted(self.cdi.iterdir())
            if not path.name.endswith("_common.json")
        }

    def effects(self, device: str, driver: str = GPU) -> list[tuple[str, str]]:
        """What was done to a device so far, in order: (what, claim uid)."""
        path = self.state / "simulated" / driver / f"{device}.jsonl"
        if not path.exists():
            return []
        lines = msgspec.json.Decoder(dict[str, str]).decode_lines(path.read_bytes())
        return [(line["done"], line["claim"]) for line in lines]

    async def _serves_all(self) -> bool:
        assert not await self.died(), self.output()
        try:
            for driver in self.drivers:
                async with Kubelet(self, driver) as kubelet:
                    await kubelet.unprepare(a_claim("nobody"))
        except (grpc.aio.AioRpcError, FileNotFoundError):
            return False
        return True


class Kubelet:
    """The kubelet's side of one driver: finds its plugin by the registration socket and calls it."""

    def __init__(self, node: Node, driver: str = GPU) -> None:
        self._registration = node.registration_socket(driver)
        self._channel: grpc.aio.Channel | None = None

    async def __aenter__(self) -> Self:
        if not self._registration.exists():
            raise FileNotFoundError(self._registration)
        async with grpc.aio.insecure_channel(f"unix:{self._registration}") as channel:
            registration = registration_pb2_grpc.RegistrationStub(channel)  # type: ignore[no-untyped-call] # generated
            self.info = await registration.GetInfo(registration_pb2.InfoRequest(), timeout=5)
            await registration.NotifyRegistrationStatus(
                registration_pb2.RegistrationStatus(plugin_registered=True), timeout=5
            )
        self._channel = grpc.aio.insecure_channel(f"unix:{self.info.endpoint}")
        self._plugin = dra_v1_pb2_grpc.DRAPluginStub(self._channel)  # type: ignore[no-untyped-call] # generated
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._channel is not None:
            await self._channel.close()

    async def prepare(self, claim: ObjectRef, *, within: float = 20) -> Any:
        """The answer for one claim: `.devices`, or `.error`."""
        request = dra_v1_pb2.NodePrepareResourcesRequest(claims=[_wire(claim)])
        response = await self._plugin.NodePrepareResources(request, timeout=within)
        return response.claims[claim.uid]

    async def unprepare(self, claim: ObjectRef, *, within: float = 20) -> str:
        """The error for one claim, empty if there was none."""
        request = dra_v1_pb2.NodeUnprepareResourcesRequest(claims=[_wire(claim)])
        response = await self._plugin.NodeUnprepareResources(request, timeout=within)
        return str(response.claims[claim.uid].error)


def a_claim(name: str) -> ObjectRef:
    """A claim whose uid tells its name."""
    return ObjectRef("ns", name, f"{name}-uid")


def ids(answer: Any) -> list[str]:
    """All CDI ids of an answer, in order; fails if it is an error."""
    assert not answer.error, answer.error
    return [identity for device in answer.devices for identity in device.cdi_device_ids]


def _wire(claim: ObjectRef) -> dra_v1_pb2.Claim:
    return dra_v1_pb2.Claim(namespace=claim.namespace, name=claim.name, uid=claim.uid)
