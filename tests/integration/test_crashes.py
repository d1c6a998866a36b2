"""Any process may be killed at any moment: the end is that of a run in which nothing happened."""

import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import yaml
from waiting import until

from dra_cli.core.position import THE_END
from dra_cli.core.verdict import verdict
from dra_cli.edge.logs import Source, opened, records
from dra_cli.edge.rest import Api
from dra_cli.local.layout import Layout
from dra_cli.local.system import LocalSystem
from dra_shared.events.writers import EpochOpened
from dra_shared.log.protocol import Record

pytestmark = pytest.mark.timeout(300)

NODES = tuple(f"w-{n}" for n in range(4))
ALIVE = 20
PODS = 200
KILLS = 10
DRA = "/apis/resource.k8s.io/v1"
MANIFESTS = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: default}
spec:
  spec:
    devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}
"""


class End(msgspec.Struct, frozen=True):
    """What a run comes to, apart from who got which of the equal devices."""

    running: frozenset[str]
    claims: int
    held_once: int
    reserved: int
    slices: int
    cdi_files: int


class Run:
    """A local system under a load of pods that come and go."""

    def __init__(self, system: LocalSystem, api: Api) -> None:
        self.system = system
        self.api = api

    async def come_and_go(self, killed_at: dict[int, str]) -> End:
        """Creates all pods, the oldest leaving as new ones come; kills what it is told when."""
        for manifest in yaml.safe_load_all(MANIFESTS):
            await self.api.create(manifest)
        for number in range(PODS):
            if victim := killed_at.get(number):
                self.system.kill(victim)
            await self.api.create(a_pod(number))
            if number >= ALIVE:
                await self.runs(f"pod-{number - ALIVE}")
                await self.api.delete(f"/api/v1/namespaces/default/pods/pod-{number - ALIVE}")
        await until(self.is_quiet, f"the last {ALIVE} pods run and all others are gone", within=90)
        return await self.end()

    async def runs(self, name: str) -> None:
        async def running() -> bool:
            return name in await self.running()

        await until(running, f"{name} runs", within=60)

    async def running(self) -> frozenset[str]:
        pods = await self.api.list("/api/v1/pods")
        return frozenset(
            pod["metadata"]["name"] for pod in pods if pod["status"].get("phase") == "Running"
        )

    async def is_quiet(self) -> bool:
        pods = await self.api.list("/api/v1/pods")
        end = await self.end()
        return len(pods) == len(end.running) == end.claims == end.held_once == ALIVE and (
            end.cdi_files == ALIVE + len(NODES) and end.slices == len(NODES)
        )

    async def end(self) -> End:
        claims = await self.api.list(f"{DRA}/resourceclaims")
        given = [claim["status"] for claim in claims if claim.get("status", {}).get("allocation")]
        holders = Counter(
            (result["pool"], result["device"])
            for status in given
            for result in status["allocation"]["devices"]["results"]
        )
        assert not holders or set(holders.values()) == {1}, "a device is held twice"
        slices = await self.api.list(f"{DRA}/resourceslices")
        files = list(self.system.folder.cluster.glob("*/cdi/*"))
        return End(
            running=await self.running(),
            claims=len(claims),
            held_once=len(holders),
            reserved=sum(len(status.get("reservedFor") or ()) for status in given),
            slices=len(slices),
            cdi_files=len(files),
        )

    async def log(self) -> list[Record]:
        async with opened(Source(self.system.nats_url)) as log:
            return [record async for record in records(log, THE_END)]


def a_pod(number: int) -> dict[str, object]:
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"cpu": "10m"}, "claims": [{"name": "gpu"}]},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "namespace": "default"},
        "spec": {
            "containers": [container],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
            "terminationGracePeriodSeconds": 1,
        },
    }


@asynccontextmanager
async def a_run(layout: Layout) -> AsyncIterator[Run]:
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        async with LocalSystem(Path(folder), layout) as system, Api(system.api_url) as api:
            yield Run(system, api)


def victims(seed: int) -> dict[int, str]:
    """Ten moments (by the number of the pod that comes then) and who dies; everybody does once."""
    chance = random.Random(seed)
    agents = [f"node-agent-{node}" for node in NODES]
    parts = ["nats", "inventory", "allocator", "api-bridge", chance.choice(agents)]
    while len(parts) < KILLS:
        parts.append(chance.choice([*parts[:4], *agents]))
    chance.shuffle(parts)
    return dict(zip(sorted(chance.sample(range(5, PODS - 5), KILLS)), parts, strict=True))


@pytest.mark.parametrize("seed", [1, 2])
async def test_ten_kills_among_two_hundred_claims_change_nothing_in_the_end(seed: int) -> None:
    async with a_run(Layout(nodes=NODES)) as run:
        killed = victims(seed)
        end = await run.come_and_go(killed)
        judged = verdict(await run.log(), "pack")
        starts = {name: run.system.supervisor.child(name).starts for name in killed.values()}
    assert min(starts.values()) > 1, "whoever was killed was started again"
    undisturbed = End(
        running=frozenset(f"pod-{number}" for number in range(PODS - ALIVE, PODS)),
        claims=ALIVE,
        held_once=ALIVE,
        reserved=ALIVE,
        slices=len(NODES),
        cdi_files=ALIVE + len(NODES),
    )
    assert end == undisturbed
    assert judged.findings == ()


async def test_an_undisturbed_run_ends_as_the_disturbed_ones_are_held_to() -> None:
    async with a_run(Layout(nodes=NODES)) as run:
        end = await run.come_and_go({})
        assert len(end.running) == end.claims == end.held_once == end.reserved == ALIVE
        assert verdict(await run.log(), "pack").findings == ()


@pytest.mark.parametrize("service", ["inventory", "allocator", "api-bridge"])
async def test_of_two_one_writes_and_the_other_takes_over_within_five_seconds_of_a_kill(
    service: str,
) -> None:
    layout = Layout(nodes=NODES[:1], inventories=2, allocators=2, bridges=2, restart=False)
    async with a_run(layout) as run:

        async def holders() -> list[str]:
            facts = [record.envelope.fact for record in await run.log()]
            return [
                fact.holder
                for fact in facts
                if isinstance(fact, EpochOpened) and fact.writer == service
            ]

        await until(holders, "somebody writes")
        (first,) = await holders()
        run.system.kill(first)

        async def another_writes() -> bool:
            return len(await holders()) == 2

        await until(another_writes, f"the other {service} writes", within=5)
        assert (await holders())[1] != first
        for manifest in yaml.safe_load_all(MANIFESTS):
            await run.api.create(manifest)
        await run.api.create(a_pod(0))
        await run.runs("pod-0")
        assert verdict(await run.log(), "pack").findings == ()
