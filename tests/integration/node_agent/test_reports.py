"""Devices are reported when they changed, whoever started or stopped in between."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from node import Kubelet, Node, a_claim, ids
from node_facts import GPU, NET, told
from servers import NatsServer
from waiting import until

from dra_shared.events.nodes import (
    AgentStarted,
    AgentStopped,
    DeviceFaultCleared,
    DeviceFaultRaised,
    DevicesReported,
)
from dra_shared.kubelet_api import health_v1alpha1_pb2, health_v1alpha1_pb2_grpc

C1 = a_claim("c1")
D0 = {"serial": "S0", "name": "d0", "deviceNodes": ["/dev/old0"]}
D2 = {"serial": "S2", "name": "d2"}
HOT = {"cause": "hot", "severity": "degraded"}


class Plugs:
    """The inventory file of a node."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def set(self, *devices: dict[str, Any]) -> None:
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps({GPU: {"devices": devices}}))
        temporary.rename(self.path)


@pytest.fixture
def plugs(tmp_path: Path) -> Plugs:
    made = Plugs(tmp_path / "inventory.json")
    made.set(D0, {"serial": None}, D2)
    return made


@pytest.fixture
async def node(nats_server: NatsServer, plugs: Plugs) -> AsyncIterator[Node]:
    async with Node(nats_server.url, INVENTORY_FILE=str(plugs.path)) as made:
        yield made


async def reports(node: Node, count: int) -> list[DevicesReported]:
    async def enough() -> list[DevicesReported]:
        found = await told(node.log, DevicesReported)
        return found if len(found) >= count else []

    return await until(enough, f"{count} reports")


def names(report: DevicesReported) -> list[tuple[str, str]]:
    return [(device.identity, device.device.name) for device in report.devices]


async def test_a_device_without_a_serial_is_left_out_and_named(node: Node) -> None:
    """ROCm#77."""
    (report,) = await reports(node, 1)
    assert names(report) == [("S0", "d0"), ("S2", "d2")]
    assert node.output().count("device 1 of gpu.example.com is left out") == 1


async def test_plugging_is_reported_within_seconds_and_prepared_with_the_new_paths(
    node: Node, plugs: Plugs
) -> None:
    """dra-driver-nvidia-gpu#1144."""
    await reports(node, 1)
    plugs.set({**D0, "deviceNodes": ["/dev/new0"]}, D2, {"serial": "S3", "name": "d3"})
    last = (await reports(node, 2))[-1]
    assert names(last) == [("S0", "d0"), ("S2", "d2"), ("S3", "d3")]
    await node.allocator.allocate(C1, "d0", "d3")
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(C1))
    (spec,) = node.claim_files().values()
    assert b"/dev/new0" in spec


async def test_the_same_devices_are_not_reported_again(node: Node, plugs: Plugs) -> None:
    await reports(node, 1)
    node.kill()
    await node.start()
    plugs.set(D0, D2)
    assert node.stop() == 0
    assert len(await told(node.log, DevicesReported)) == 1
    assert len(await told(node.log, AgentStarted)) == 2
    assert len(await told(node.log, AgentStopped)) == 1


async def test_an_unreadable_inventory_changes_nothing(node: Node, plugs: Plugs) -> None:
    await reports(node, 1)
    plugs.path.write_text("{")

    async def noticed() -> bool:
        return "cannot look at the devices" in node.output()

    await until(noticed, "the agent says so")
    plugs.set(D2)
    assert names((await reports(node, 2))[-1]) == [("S2", "d2")]


async def test_faults_are_raised_and_cleared_by_cause(node: Node, plugs: Plugs) -> None:
    plugs.set({**D0, "faults": [HOT]}, D2)
    (raised,) = await until(lambda: told(node.log, DeviceFaultRaised), "the fault is raised")
    assert (raised.device, raised.cause, raised.severity) == ("d0", "hot", "degraded")
    plugs.set(D0, D2)
    (cleared,) = await until(lambda: told(node.log, DeviceFaultCleared), "the fault is cleared")
    assert (cleared.device, cleared.cause) == ("d0", "hot")


async def test_the_kubelet_hears_of_all_devices_and_of_each_change(
    node: Node, plugs: Plugs
) -> None:
    async with (
        Kubelet(node) as kubelet,
        grpc.aio.insecure_channel(f"unix:{kubelet.info.endpoint}") as channel,
    ):
        stub = health_v1alpha1_pb2_grpc.DRAResourceHealthStub(channel)  # type: ignore[no-untyped-call] # generated
        stream = stub.NodeWatchResources(health_v1alpha1_pb2.NodeWatchResourcesRequest())
        first = await asyncio.wait_for(stream.read(), 5)
        assert [(d.device.device_name, d.health) for d in first.devices] == [("d0", 1), ("d2", 1)]
        plugs.set({**D0, "faults": [HOT]}, D2)
        second = await asyncio.wait_for(stream.read(), 5)
        assert [(d.device.pool_name, d.health) for d in second.devices] == [
            ("node-a", 2),
            ("node-a", 1),
        ]
        assert second.devices[0].message.startswith("hot")


async def test_drivers_that_are_served_no_more_are_reported_empty(nats_server: NatsServer) -> None:
    async with Node(nats_server.url, DRA_PROFILES="gpu,net", NUM_DEVICES="2") as node:
        await reports(node, 2)
        node.stop()
        node.set("DRA_PROFILES", "gpu")
        await node.start()
        last = (await reports(node, 3))[-1]
    assert (last.driver, last.devices) == (NET, ())
