"""Case D4: CDI files are whole, apart, and come back (dra-driver-cpu#31, CDI#41, kubernetes#141433)."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence

import grpc
import pytest
from node import Kubelet, Node, a_claim, ids
from node_facts import GPU, a_result
from servers import NatsServer

from dra_shared.ids import ObjectRef

CLAIMS = 200


@pytest.fixture
async def node(nats_server: NatsServer) -> AsyncIterator[Node]:
    async with Node(nats_server.url, NUM_DEVICES=str(CLAIMS)) as made:
        yield made


def devices(node: Node) -> dict[str, dict[str, str]]:
    """What a container runtime can resolve: environment by qualified name. Fails on bad files."""
    found: dict[str, dict[str, str]] = {}
    for path in node.cdi.iterdir():
        if path.name.startswith("."):
            continue
        assert path.suffix == ".json"
        spec = json.loads(path.read_bytes())
        for device in spec["devices"]:
            env = dict(line.split("=", 1) for line in device["containerEdits"]["env"])
            assert found.setdefault(f"{spec['kind']}={device['name']}", env) is env
    return found


async def insist(node: Node, claims: Sequence[ObjectRef]) -> dict[str, list[str]]:
    """Asks again until all claims are prepared, over any number of agents; CDI ids by uid."""
    answers: dict[str, list[str]] = {}

    async def ask(kubelet: Kubelet, claim: ObjectRef) -> None:
        answers[claim.uid] = ids(await kubelet.prepare(claim))

    while left := [claim for claim in claims if claim.uid not in answers]:
        try:
            async with Kubelet(node) as kubelet:
                await asyncio.gather(*(ask(kubelet, claim) for claim in left))
        except (grpc.aio.AioRpcError, FileNotFoundError):
            await asyncio.sleep(0.02)
    return answers


async def test_a_reader_never_sees_a_broken_file_in_200_prepares_with_kills(node: Node) -> None:
    claims = [a_claim(f"c{number}") for number in range(CLAIMS)]
    for number, claim in enumerate(claims):
        await node.allocator.allocate(claim, f"gpu-{number}")
    chance = random.Random(4)
    reads = 0

    async def read_for_ever() -> None:
        nonlocal reads
        while True:
            devices(node)
            reads += 1
            await asyncio.sleep(0.02)

    reader = asyncio.create_task(read_for_ever())
    answers: dict[str, list[str]] = {}
    for start in range(0, CLAIMS, 50):
        calls = asyncio.create_task(insist(node, claims[start : start + 50]))
        await asyncio.wait((calls,), timeout=chance.uniform(0.05, 0.3))
        node.kill()
        await node.start()
        answers |= await calls
    assert not reader.done(), "the reader met a broken file"
    reader.cancel()
    assert reads > 20
    assert len(node.claim_files()) == CLAIMS
    resolvable = devices(node)
    assert all(identity in resolvable for answer in answers.values() for identity in answer)
    assert all(node.effects(f"gpu-{n}") == [("set_up", f"c{n}-uid")] for n in range(CLAIMS))


async def test_two_claims_in_one_container_overwrite_nothing(node: Node) -> None:
    await node.allocator.allocate(a_claim("c1"), "gpu-0")
    await node.allocator.allocate(a_claim("c2"), "gpu-1")
    async with Kubelet(node) as kubelet:
        names = [
            *ids(await kubelet.prepare(a_claim("c1"))),
            *ids(await kubelet.prepare(a_claim("c2"))),
        ]
    container: dict[str, str] = {}
    for name in dict.fromkeys(names):
        env = devices(node)[name]
        assert all(container.get(key, value) == value for key, value in env.items())
        container |= env
    assert container["GPU_DEVICE_0"] == "gpu-0"
    assert container["GPU_DEVICE_GPU_0_RESOURCE_CLAIM"] == "c1-uid"
    assert container["GPU_DEVICE_1"] == "gpu-1"
    assert container["GPU_DEVICE_GPU_1_RESOURCE_CLAIM"] == "c2-uid"


async def test_claims_of_two_pools_have_a_file_each(node: Node) -> None:
    await node.allocator.allocate(a_claim("c1"), a_result("gpu-0", pool="p1"))
    await node.allocator.allocate(a_claim("c2"), a_result("gpu-1", pool="p2"))
    async with Kubelet(node) as kubelet:
        first = await kubelet.prepare(a_claim("c1"))
        second = await kubelet.prepare(a_claim("c2"))
        assert [d.pool_name for d in (*first.devices, *second.devices)] == ["p1", "p2"]
        assert len(node.claim_files()) == 2
        assert await kubelet.unprepare(a_claim("c1")) == ""
    assert list(node.claim_files()) == ["k8s.gpu.example.com-gpu_c2-uid.json"]


async def test_all_files_are_rebuilt_at_start_and_those_of_claims_that_are_gone_removed(
    node: Node,
) -> None:
    async with Kubelet(node) as kubelet:
        for number in range(3):
            await node.allocator.allocate(a_claim(f"c{number}"), f"gpu-{number}")
            ids(await kubelet.prepare(a_claim(f"c{number}")))
        gone = {"k8s.gpu.example.com-gpu_c2-uid.json"}
        before = node.claim_files()
        common = (node.cdi / "k8s.gpu.example.com-gpu_common.json").read_bytes()
        assert await kubelet.unprepare(a_claim("c2")) == ""
    node.kill()
    for path in node.cdi.iterdir():
        path.unlink()
    name = gone.copy().pop()
    (node.cdi / name).write_bytes(before[name])
    stray = node.cdi / "k8s.gpu.example.com-gpu_never-heard-of.json"
    stray.write_text("{}")
    (node.cdi / ".k8s.gpu.example.com-gpu_c9.json.tmp").write_text("{")
    await node.start()
    after = node.claim_files()
    assert after.pop(stray.name) == b"{}", "no proof that its claim is gone"
    assert after == {key: content for key, content in before.items() if key not in gone}
    assert (node.cdi / "k8s.gpu.example.com-gpu_common.json").read_bytes() == common
    assert "left alone" in node.output()
    assert GPU in common.decode()
