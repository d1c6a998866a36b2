"""What an agent refuses: by reason, for good or for now, and without leaving a trace."""

import asyncio
import time

import pytest
from node import Kubelet, Node, a_claim, ids
from node_facts import a_config, a_result, gpu_config, told
from waiting import until

from dra_shared.events.nodes import ClaimPrepareFailed

C1, C2 = a_claim("c1"), a_claim("c2")


async def test_a_bad_configuration_is_refused_before_anything_is_recorded(node: Node) -> None:
    """dra-driver-nvidia-gpu#1346."""
    await node.allocator.allocate(C1, "gpu-0", config=[a_config({"dir": "../x"})])
    before = sorted(path for path in node.root.rglob("*") if path.name != "agent.err")
    async with Kubelet(node) as kubelet:
        error = (await kubelet.prepare(C1)).error
        assert error.startswith("permanent: ")
        assert node.rows() == node.rows("gone") == []
        assert await kubelet.unprepare(C1) == ""
    assert node.claim_files() == {}
    assert sorted(path for path in node.root.rglob("*") if path.name != "agent.err") == before


async def test_a_hopeless_claim_is_told_to_the_log_as_permanent_but_not_each_time(
    node: Node,
) -> None:
    """kubernetes#125542."""
    config = a_config({"apiVersion": "v1", "kind": "NpuConfig"})
    await node.allocator.allocate(C1, "gpu-0", config=[config])
    async with Kubelet(node) as kubelet:
        for _ in range(7):
            assert "NpuConfig" in (await kubelet.prepare(C1)).error

    async def failures() -> list[ClaimPrepareFailed]:
        failed = await told(node.log, ClaimPrepareFailed)
        return failed if len(failed) >= 3 else []

    failed = await until(failures, "the failures are told")
    assert [fact.attempt for fact in failed] == [1, 2, 4]
    assert all(fact.permanent and "NpuConfig" in fact.cause for fact in failed)


async def test_an_unknown_claim_is_waited_for_and_then_refused_for_now(node: Node) -> None:
    async with Kubelet(node) as kubelet:
        began = time.monotonic()
        error = (await kubelet.prepare(C1)).error
        assert 0.9 < time.monotonic() - began < 5
        assert "has not reached node node-a yet" in error
        assert error.endswith("try again")
        call = asyncio.create_task(kubelet.prepare(C1))
        await node.allocator.allocate(C1, "gpu-0")
        assert ids(await call)


async def test_a_device_that_another_claim_still_holds_is_refused_until_it_is_unprepared(
    node: Node,
) -> None:
    """kubernetes#141471: the pod is gone from the API, its containers still run."""
    await node.allocator.allocate(C1, "gpu-0")
    async with Kubelet(node) as kubelet:
        first = ids(await kubelet.prepare(C1))
        await node.allocator.release(C1)
        await node.allocator.allocate(C2, "gpu-0")
        error = (await kubelet.prepare(C2)).error
        assert "ns/c1" in error
        assert "gpu-0" in error
        assert ids(await kubelet.prepare(C1)) == first, "the holder is not disturbed"
        assert await kubelet.unprepare(C1) == ""
        assert ids(await kubelet.prepare(C2))
    assert [uid for uid, _, _ in node.rows()] == [C2.uid]


async def test_shares_and_admin_access_go_together_with_others(node: Node) -> None:
    await node.allocator.allocate(C1, a_result("gpu-0", share_id="s1"))
    await node.allocator.allocate(C2, a_result("gpu-0", share_id="s2"))
    admin = a_claim("admin")
    await node.allocator.allocate(admin, a_result("gpu-0", admin_access=True))
    async with Kubelet(node) as kubelet:
        names = [ids(await kubelet.prepare(claim))[-1] for claim in (C1, C2, admin)]
    assert names == [
        "k8s.gpu.example.com/gpu=c1-uid-gpu-0-s1",
        "k8s.gpu.example.com/gpu=c2-uid-gpu-0-s2",
        "k8s.gpu.example.com/gpu=admin-uid-gpu-0",
    ]


async def test_a_claim_allocated_anew_is_refused_while_its_former_devices_are_set_up(
    node: Node,
) -> None:
    await node.allocator.allocate(C1, "gpu-0")
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(C1))
        await node.allocator.release(C1)
        await node.allocator.allocate(C1, "gpu-1")

        async def refused() -> str:
            return str((await kubelet.prepare(C1)).error)

        assert "gpu-0" in await until(refused, "the new allocation is known")
        assert await kubelet.unprepare(C1) == ""
        assert ids(await kubelet.prepare(C1))[-1] == "k8s.gpu.example.com/gpu=c1-uid-gpu-1"


async def test_partition_configuration_reaches_the_container(node: Node) -> None:
    config = a_config(
        gpu_config(strategy="SpacePartitioning", spacePartitioningConfig={"partitionCount": 10})
    )
    await node.allocator.allocate(C1, "gpu-0", config=[config])
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(C1))
    (spec,) = node.claim_files().values()
    assert b"GPU_DEVICE_0_PARTITION_COUNT=10" in spec


@pytest.mark.parametrize(
    "variable",
    ["STATE_DIR", "KUBELET_REGISTRAR_DIRECTORY_PATH", "KUBELET_PLUGINS_DIRECTORY_PATH"],
)
async def test_a_folder_that_cannot_be_used_is_a_wrong_setting_and_named(
    node: Node, variable: str
) -> None:
    node.kill()
    node.set(variable, "/proc/none")
    node.launch()
    await until(node.died, "the agent ends")
    last = (node.root / "agent.err").read_text().splitlines()[-1]
    assert "wrong settings" in last
    assert variable in last
