"""What an agent makes of what the one before it left: ledger, CDI files, log, reboots."""

import json

import grpc
import pytest
from node import Kubelet, Node, a_claim, ids
from node_facts import told
from servers import NatsServer
from waiting import until

from dra_shared.events.nodes import AgentStarted, ClaimPrepared, ClaimUnprepared, DevicesReported

C1, C2 = a_claim("c1"), a_claim("c2")


@pytest.fixture
async def prepared(node: Node) -> Node:
    """A node on which c1 is prepared with gpu-0, and the log knows."""
    await node.allocator.allocate(C1, "gpu-0")
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(C1))
    await until(lambda: told(node.log, ClaimPrepared), "the log knows")
    await until(lambda: told(node.log, DevicesReported), "the devices are reported")
    return node


async def test_a_prepared_claim_can_be_resolved_from_disk_after_a_kill(prepared: Node) -> None:
    """google/dranet#89."""
    prepared.kill()
    (spec,) = prepared.claim_files().values()
    (device,) = json.loads(spec)["devices"]
    assert device["name"] == "c1-uid-gpu-0"
    await prepared.start()
    assert prepared.rows() == [(C1.uid, "gpu.example.com", "prepared")]
    assert prepared.effects("gpu-0") == [("set_up", C1.uid)]


async def test_a_set_up_that_was_cut_off_is_finished_at_start_without_a_call(node: Node) -> None:
    await node.allocator.allocate(C1, "gpu-0", "gpu-1")
    node.faults({"point": "set_up_done", "effect": "kill", "device": "gpu-0"})
    async with Kubelet(node) as kubelet:
        with pytest.raises(grpc.aio.AioRpcError):
            await kubelet.prepare(C1)
    await until(node.died, "the agent is dead")
    node.faults()
    await node.start()

    async def finished() -> bool:
        return bool(node.rows("prepared"))

    await until(finished, "the claim is prepared")
    assert len(node.claim_files()) == 1
    assert node.effects("gpu-0") == node.effects("gpu-1") == [("set_up", C1.uid)]


async def test_a_lost_cdi_file_is_rebuilt_by_the_next_prepare(prepared: Node) -> None:
    """ROCm#75."""
    before = prepared.claim_files()
    for name in before:
        (prepared.cdi / name).unlink()
    async with Kubelet(prepared) as kubelet:
        ids(await kubelet.prepare(C1))
    assert prepared.claim_files() == before
    assert prepared.effects("gpu-0") == [("set_up", C1.uid)]


async def test_after_a_reboot_a_claim_still_holds_its_devices_and_is_set_up_again_when_asked(
    prepared: Node,
) -> None:
    prepared.reboot()
    await prepared.start()
    assert prepared.rows() == [(C1.uid, "gpu.example.com", "accepted")]
    assert prepared.claim_files() == {}
    await prepared.allocator.allocate(C2, "gpu-0")
    async with Kubelet(prepared) as kubelet:
        assert "ns/c1" in (await kubelet.prepare(C2)).error
        ids(await kubelet.prepare(C1))
        assert prepared.effects("gpu-0") == [("set_up", C1.uid)] * 2
        assert await kubelet.unprepare(C1) == ""
        ids(await kubelet.prepare(C2))
    boots = [fact.boot_id for fact in await told(prepared.log, AgentStarted)]
    assert boots == ["boot-1", "boot-2"]


async def test_a_claim_that_was_released_over_a_reboot_is_let_go_without_a_call(
    prepared: Node,
) -> None:
    prepared.reboot()
    await prepared.allocator.release(C1)
    await prepared.start()

    async def gone() -> bool:
        return not prepared.rows()

    await until(gone, "the claim holds nothing any more")
    await until(lambda: told(prepared.log, ClaimUnprepared), "the log knows")


async def test_a_release_alone_takes_nothing_from_a_claim_that_is_in_use(prepared: Node) -> None:
    """google/dranet#232: swept only on proof that nothing runs."""
    await prepared.allocator.release(C1)
    prepared.kill()
    await prepared.start()
    await prepared.allocator.allocate(C2, "gpu-1")
    async with Kubelet(prepared) as kubelet:
        ids(await kubelet.prepare(C2))
    assert [uid for uid, _, _ in prepared.rows("prepared")] == [C1.uid, C2.uid]
    assert len(prepared.claim_files()) == 2


def damage(node: Node) -> None:
    node.kill()
    for path in node.state.glob("ledger.sqlite*"):
        path.write_bytes(b"what a torn disk left")


async def test_a_damaged_ledger_is_put_aside_and_rebuilt_from_cdi_files_without_nats(
    prepared: Node, nats_server: NatsServer
) -> None:
    """dra-driver-nvidia-gpu#1080: no crash loop, no forgotten claim."""
    before = prepared.claim_files()
    damage(prepared)
    nats_server.kill()
    await prepared.start()
    assert prepared.rows() == [(C1.uid, "gpu.example.com", "prepared")]
    assert prepared.claim_files() == before
    assert list(prepared.state.glob("*.damaged-*"))
    assert "the ledger is damaged" in prepared.output()
    async with Kubelet(prepared) as kubelet:
        assert len(ids(await kubelet.prepare(C1))) == 2
        assert await kubelet.unprepare(C1) == ""
    assert prepared.effects("gpu-0") == [("set_up", C1.uid), ("torn_down", C1.uid)]
    nats_server.start()
    await until(lambda: told(prepared.log, ClaimUnprepared), "the end is told", within=20)


async def test_a_ledger_and_cdi_files_that_are_lost_come_back_from_the_log(
    prepared: Node,
) -> None:
    await prepared.allocator.allocate(C2, "gpu-1")
    async with Kubelet(prepared) as kubelet:
        ids(await kubelet.prepare(C2))

    async def knows_both() -> bool:
        return len(await told(prepared.log, ClaimPrepared)) == 2

    await until(knows_both, "the log knows both")
    before = prepared.claim_files()
    damage(prepared)
    await prepared.allocator.release(C2)
    for path in prepared.cdi.iterdir():
        path.unlink()
    await prepared.start()

    async def settled() -> bool:
        return [(uid, phase) for uid, _, phase in prepared.rows()] == [(C1.uid, "prepared")]

    await until(settled, "c1 is prepared again, c2 is undone")
    name = "k8s.gpu.example.com-gpu_c1-uid.json"
    assert prepared.claim_files() == {name: before[name]}
    assert [what for what, _ in prepared.effects("gpu-1")] == ["set_up", "torn_down"]
    assert len(await told(prepared.log, DevicesReported)) == 1
