"""Calls that overlap: in order for one claim, side by side for several, bounded for the caller."""

import asyncio
import random
import time
from collections.abc import AsyncIterator

import grpc
import pytest
from node import Kubelet, Node, a_claim, ids
from servers import NatsServer
from waiting import until

C1, C2 = a_claim("c1"), a_claim("c2")


async def test_a_prepare_behind_an_unprepare_waits_for_a_fresh_set_up(node: Node) -> None:
    """kubernetes#140527."""
    await node.allocator.allocate(C1, "gpu-0")
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(C1))
        node.faults({"point": "tear_down", "effect": "block"})
        undoing = asyncio.create_task(kubelet.unprepare(C1))

        async def is_undoing() -> bool:
            return bool(node.rows("undoing"))

        await until(is_undoing, "the undo has begun")
        preparing = asyncio.create_task(kubelet.prepare(C1))
        done, _ = await asyncio.wait((undoing, preparing), timeout=0.3)
        assert not done
        node.faults()
        assert await undoing == ""
        ids(await preparing)
    assert [what for what, _ in node.effects("gpu-0")] == ["set_up", "torn_down", "set_up"]


async def test_fifty_hasty_restarts_of_a_pod_end_prepared_in_strict_order(node: Node) -> None:
    """kubernetes#131513, google/dranet#141."""
    await node.allocator.allocate(C1, "gpu-0")
    chance = random.Random(14)
    async with Kubelet(node) as kubelet:
        for _ in range(50):
            calls = [kubelet.prepare(C1, within=0.001), kubelet.unprepare(C1)]
            chance.shuffle(calls)
            await asyncio.gather(*calls, return_exceptions=True)
            ids(await kubelet.prepare(C1))
            assert await kubelet.unprepare(C1) == ""
        ids(await kubelet.prepare(C1))
    effects = [what for what, _ in node.effects("gpu-0")]
    assert effects == ["set_up", "torn_down"] * (len(effects) // 2) + ["set_up"]
    assert len(effects) >= 101


async def test_a_set_up_that_outlives_its_caller_is_done_once_and_answered_at_once(
    node: Node,
) -> None:
    """kubernetes#117146."""
    await node.allocator.allocate(C1, "gpu-0")
    async with Kubelet(node) as kubelet:
        node.faults({"point": "set_up", "effect": "block"})
        with pytest.raises(grpc.aio.AioRpcError, match="Deadline"):
            await kubelet.prepare(C1, within=0.5)
        node.faults()

        async def prepared() -> bool:
            return bool(node.rows("prepared"))

        await until(prepared, "the set-up went on alone")
        began = time.monotonic()
        ids(await kubelet.prepare(C1))
        assert time.monotonic() - began < 0.2
    assert node.effects("gpu-0") == [("set_up", C1.uid)]


async def test_a_slow_claim_does_not_hold_up_another(node: Node) -> None:
    """dra-driver-nvidia-gpu#374."""
    await node.allocator.allocate(C1, "gpu-0")
    await node.allocator.allocate(C2, "gpu-1")
    node.faults({"point": "set_up", "effect": "block", "claim": C1.uid})
    async with Kubelet(node) as kubelet:
        slow = asyncio.create_task(kubelet.prepare(C1))

        async def is_slow() -> bool:
            return bool(node.rows("setting_up"))

        await until(is_slow, "c1 is being set up")
        ids(await kubelet.prepare(C2, within=2))
        assert not slow.done()
        node.faults()
        ids(await slow)


@pytest.fixture
async def hasty(nats_server: NatsServer) -> AsyncIterator[Node]:
    async with Node(nats_server.url, ANSWER_SECONDS="0.5", EFFECT_SECONDS="1") as made:
        yield made


async def test_the_kubelet_is_answered_in_time_and_a_hung_set_up_is_given_up(hasty: Node) -> None:
    await hasty.allocator.allocate(C1, "gpu-0")
    hasty.faults({"point": "set_up", "effect": "block"})
    async with Kubelet(hasty) as kubelet:
        answer = await kubelet.prepare(C1, within=3)
        assert "still being worked on" in answer.error

        async def given_up() -> bool:
            return not hasty.rows()

        await until(given_up, "the set-up is given up and undone")
    assert hasty.claim_files() == {}
