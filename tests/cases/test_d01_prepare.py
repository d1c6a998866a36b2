"""Case D1: prepare is idempotent and leaves nothing (dra-driver-nvidia-gpu#754, #840)."""

from collections.abc import AsyncIterator

import grpc
import pytest
from node import Kubelet, Node, a_claim, ids
from node_facts import both, told
from servers import NatsServer
from waiting import until

from dra_shared.events.nodes import ClaimPrepared, ClaimUnprepared

C1 = a_claim("c1")
KILL_POINTS = (
    {"point": "set_up"},
    {"point": "set_up_done"},
    {"point": "set_up", "device": "gpu-1"},
    {"point": "set_up_done", "device": "gpu-1"},
    {"point": "cdi_write"},
    {"point": "cdi_rename"},
    {"point": "cdi_written"},
    {"point": "prepared"},
)
UNDO_POINTS = ("cdi_unlink", "tear_down", "tear_down_done")


@pytest.fixture
async def node(nats_server: NatsServer) -> AsyncIterator[Node]:
    async with Node(nats_server.url) as made:
        yield made


def nothing_is_left(node: Node) -> bool:
    return not node.rows() and not node.claim_files()


async def test_prepare_is_done_once_and_answered_the_same_each_time(node: Node) -> None:
    await node.allocator.allocate(C1, "gpu-0")
    async with Kubelet(node) as kubelet:
        first, second = await both(kubelet.prepare(C1), kubelet.prepare(C1))
        third = await kubelet.prepare(C1)
        assert ids(first) == ids(second) == ids(third)
        assert len(set(ids(first))) == len(ids(first))
        assert node.effects("gpu-0") == [("set_up", C1.uid)]
        assert await kubelet.unprepare(C1) == ""
        assert await kubelet.unprepare(C1) == ""
        assert await kubelet.unprepare(a_claim("unknown")) == ""
    assert nothing_is_left(node)
    assert node.effects("gpu-0") == [("set_up", C1.uid), ("torn_down", C1.uid)]


@pytest.mark.parametrize("point", KILL_POINTS)
async def test_a_kill_during_prepare_ends_where_no_kill_would(
    node: Node, nats_server: NatsServer, point: dict[str, str]
) -> None:
    await node.allocator.allocate(C1, "gpu-0", "gpu-1")
    node.faults({**point, "effect": "kill"})
    async with Kubelet(node) as kubelet:
        with pytest.raises(grpc.aio.AioRpcError):
            await kubelet.prepare(C1)
    await until(node.died, "the agent is dead")
    node.faults()
    await node.start()
    async with Kubelet(node) as kubelet:
        answer = await kubelet.prepare(C1)
        assert ids(answer) == [
            "k8s.gpu.example.com/gpu=common",
            "k8s.gpu.example.com/gpu=c1-uid-gpu-0",
            "k8s.gpu.example.com/gpu=common",
            "k8s.gpu.example.com/gpu=c1-uid-gpu-1",
        ]
        assert node.effects("gpu-0") == node.effects("gpu-1") == [("set_up", C1.uid)]
        await until(lambda: told(node.log, ClaimPrepared), "the log knows it")
        nats_server.kill()
        assert await kubelet.unprepare(C1) == ""
        assert nothing_is_left(node)
        nats_server.start()

    async def unprepared() -> bool:
        return len(await told(node.log, ClaimUnprepared)) == 1

    await until(unprepared, "the log knows the end once", within=20)
    assert len(await told(node.log, ClaimPrepared)) == 1


@pytest.mark.parametrize("point", UNDO_POINTS)
async def test_a_kill_during_unprepare_leaves_nothing_either(node: Node, point: str) -> None:
    await node.allocator.allocate(C1, "gpu-0", "gpu-1")
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(C1))
        node.faults({"point": point, "effect": "kill"})
        with pytest.raises(grpc.aio.AioRpcError):
            await kubelet.unprepare(C1)
    await until(node.died, "the agent is dead")
    node.faults()
    await node.start()

    async def gone() -> bool:
        return nothing_is_left(node)

    await until(gone, "the undo is finished without a call")
    for device in ("gpu-0", "gpu-1"):
        assert node.effects(device) == [("set_up", C1.uid), ("torn_down", C1.uid)]


async def test_what_happens_without_nats_is_told_once_when_it_is_back(
    node: Node, nats_server: NatsServer
) -> None:
    claims = [a_claim(f"c{number}") for number in range(8)]
    async with Kubelet(node) as kubelet:
        for number, claim in enumerate(claims):
            await node.allocator.allocate(claim, f"gpu-{number}")
        ids(await kubelet.prepare(claims[-1]))
        nats_server.kill()
        for claim in claims:
            ids(await kubelet.prepare(claim))
            assert await kubelet.unprepare(claim) == ""
    node.kill()
    await node.start()
    nats_server.start()

    async def all_told() -> bool:
        return len(await told(node.log, ClaimUnprepared)) >= len(claims)

    await until(all_told, "all facts have arrived", within=20)
    prepared = [fact.claim for fact in await told(node.log, ClaimPrepared)]
    unprepared = [fact.claim for fact in await told(node.log, ClaimUnprepared)]
    assert sorted(prepared) == sorted(unprepared) == sorted(claims)
    assert nothing_is_left(node)
