"""Case D2: a claim over two drivers, one of which fails (kubernetes#137945, #139772, #140274)."""

import json
from collections.abc import AsyncIterator

import pytest
from node import Kubelet, Node, a_claim, ids
from node_facts import GPU, NET, a_config, a_result, gpu_config, told
from servers import NatsServer
from waiting import until

from dra_shared.events.nodes import ClaimPrepared, ClaimPrepareFailed

C1 = a_claim("c1")
NIC_FAILS = {"point": "set_up", "effect": "raise", "driver": NET}


@pytest.fixture
async def node(nats_server: NatsServer) -> AsyncIterator[Node]:
    async with Node(nats_server.url, DRA_PROFILES="gpu,net") as made:
        slicing = gpu_config(strategy="TimeSlicing", timeSlicingConfig={"interval": "Long"})
        await made.allocator.allocate(
            C1,
            a_result("gpu-3", "gpu/small"),
            a_result("nic-0", "nic", NET, share_id="share-1"),
            config=[a_config(slicing, "gpu")],
        )
        yield made


async def test_each_driver_handles_its_own_and_the_retry_doubles_nothing(node: Node) -> None:
    async with Kubelet(node, GPU) as gpu, Kubelet(node, NET) as net:
        node.faults(NIC_FAILS)
        first = await gpu.prepare(C1)
        for _ in range(2):
            assert ids(await gpu.prepare(C1)) == ids(first)
            assert "nic-0" in (await net.prepare(C1)).error
        node.faults()
        again, nic = await gpu.prepare(C1), await net.prepare(C1)
    assert [device.device_name for device in again.devices] == ["gpu-3"]
    assert [list(device.request_names) for device in again.devices] == [["gpu"]]
    assert ids(first) == ids(again)
    assert ids(nic) == [
        "k8s.net.example.com/net=common",
        "k8s.net.example.com/net=c1-uid-nic-0-share-1",
    ]
    assert nic.devices[0].share_id == "share-1"
    every = [*ids(again), *ids(nic)]
    assert len(set(every)) == len(every)
    assert node.effects("gpu-3") == [("set_up", C1.uid)]
    spec = json.loads(node.claim_files()["k8s.gpu.example.com-gpu_c1-uid.json"])
    env = spec["devices"][0]["containerEdits"]["env"]
    assert "GPU_DEVICE_3_TIMESLICE_INTERVAL=Long" in env


async def test_the_driver_that_works_is_undone_without_waiting_for_the_one_that_does_not(
    node: Node,
) -> None:
    node.faults(NIC_FAILS)
    async with Kubelet(node, GPU) as gpu, Kubelet(node, NET) as net:
        ids(await gpu.prepare(C1))
        assert (await net.prepare(C1)).error
        assert await gpu.unprepare(C1, within=10) == ""
        assert await net.unprepare(C1, within=10) == ""
    assert node.rows() == []
    assert node.claim_files() == {}
    assert node.effects("gpu-3") == [("set_up", C1.uid), ("torn_down", C1.uid)]

    async def failure() -> list[ClaimPrepareFailed]:
        return await told(node.log, ClaimPrepareFailed)

    failed = await until(failure, "the failure is told")
    assert [(fact.driver, fact.permanent) for fact in failed] == [(NET, False)]
    assert [fact.driver for fact in await told(node.log, ClaimPrepared)] == [GPU]
