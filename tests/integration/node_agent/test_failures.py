"""What fails half-way is undone in reverse, and nothing is free before it is undone."""

import pytest
from node import Kubelet, Node, a_claim, ids
from node_facts import told
from waiting import until

from dra_shared.events.nodes import ClaimPrepared, ClaimPrepareFailed, ClaimUnprepared

C1, C2 = a_claim("c1"), a_claim("c2")


async def test_a_failure_at_the_third_device_undoes_the_second_then_the_first(node: Node) -> None:
    """dra-driver-nvidia-gpu#1256, #840."""
    await node.allocator.allocate(C1, "gpu-0", "gpu-1", "gpu-2")
    async with Kubelet(node) as kubelet:
        node.faults({"point": "set_up", "effect": "raise", "device": "gpu-2"})
        error = (await kubelet.prepare(C1)).error
        assert "gpu-2" in error
        assert node.rows() == []
        assert node.claim_files() == {}
        for device in ("gpu-0", "gpu-1"):
            assert [what for what, _ in node.effects(device)] == ["set_up", "torn_down"]
        assert node.effects("gpu-2") == []
        node.faults()
        assert len(ids(await kubelet.prepare(C1))) == 6
    (failure,) = await until(lambda: told(node.log, ClaimPrepareFailed), "the failure is told")
    assert (failure.device, failure.permanent) == ("gpu-2", False)


async def test_the_last_device_is_undone_first_and_the_rest_waits_for_it(node: Node) -> None:
    await node.allocator.allocate(C1, "gpu-0", "gpu-1")
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(C1))
        node.faults({"point": "tear_down", "effect": "raise", "device": "gpu-1"})
        assert "gpu-1" in await kubelet.unprepare(C1)
        assert node.effects("gpu-0") == [("set_up", C1.uid)]
        assert node.claim_files() == {}, "no new container may see the devices"
        node.faults()

        async def gone() -> bool:
            return not node.rows()

        await until(gone, "the agent itself tries again", within=20)
    assert [what for what, _ in node.effects("gpu-0")] == ["set_up", "torn_down"]


@pytest.mark.parametrize("point", ["cdi_write", "cdi_rename"])
async def test_without_its_cdi_file_a_claim_never_was_prepared(node: Node, point: str) -> None:
    """dra-driver-cpu#169."""
    await node.allocator.allocate(C1, "gpu-0")
    async with Kubelet(node) as kubelet:
        node.faults({"point": point, "effect": "raise"})
        assert "CDI file" in (await kubelet.prepare(C1)).error
        assert node.claim_files() == {}
        node.faults()
        assert await kubelet.unprepare(C1) == ""
        await node.allocator.allocate(C2, "gpu-0")
        ids(await kubelet.prepare(C2))

    async def is_told() -> list[ClaimPrepared]:
        return await told(node.log, ClaimPrepared)

    assert [fact.claim for fact in await until(is_told, "c2 is told")] == [C2]
    assert [fact.claim for fact in await told(node.log, ClaimPrepareFailed)] == [C1]


@pytest.mark.parametrize("point", ["cdi_unlink", "tear_down"])
async def test_a_device_is_not_free_before_its_claim_is_undone(node: Node, point: str) -> None:
    """dra-driver-cpu#178."""
    await node.allocator.allocate(C1, "gpu-0")
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(C1))
        node.faults({"point": point, "effect": "raise", "claim": C1.uid})
        assert "not undone yet" in await kubelet.unprepare(C1)
        assert node.rows() == [(C1.uid, "gpu.example.com", "undoing")]
        await node.allocator.release(C1)
        await node.allocator.allocate(C2, "gpu-0")
        assert "ns/c1" in (await kubelet.prepare(C2)).error
        assert await told(node.log, ClaimUnprepared) == []
        node.faults()
        assert await kubelet.unprepare(C1) == ""
        ids(await kubelet.prepare(C2))


async def test_a_failed_undo_is_finished_before_the_claim_is_set_up_again(node: Node) -> None:
    await node.allocator.allocate(C1, "gpu-0", "gpu-1")
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(C1))
        node.faults({"point": "tear_down", "effect": "raise", "device": "gpu-0"})
        assert await kubelet.unprepare(C1)
        assert "not undone yet" in (await kubelet.prepare(C1)).error
        node.faults()
        ids(await kubelet.prepare(C1))
    assert [what for what, _ in node.effects("gpu-0")] == ["set_up", "torn_down", "set_up"]
