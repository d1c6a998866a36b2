"""Examples 7 and 8 on a local system, and what becomes of it when its parts are killed."""

from pathlib import Path

import pytest
from integration.cli.local import Local, a_local_system
from waiting import until

from dra_cli.core.verdict import verdict
from dra_cli.demo.environment import gpus
from dra_cli.demo.expectations import findings
from dra_cli.local.layout import Layout

pytestmark = pytest.mark.timeout(180)

ONE_NODE = Layout(nodes=("worker-0",), gpus=3)


async def assert_good(local: Local) -> None:
    """Every container saw what it should, and the log verifies."""
    seen = await local.cluster.look()
    assert list(findings(seen.containers, local.system.layout.gpus)) == []
    assert verdict(seen.records, "pack").findings == ()


async def test_example_7_sees_all_gpus_of_the_node_also_those_that_others_hold() -> None:
    async with a_local_system(ONE_NODE) as local:
        await local.apply(1)
        await local.cluster.settled()
        await local.apply(7)
        await local.cluster.settled()
        seen = await local.cluster.look()
        admin = seen.containers["admin-access/pod0/ctr0"]
        assert admin["DRA_ADMIN_ACCESS"] == "true"
        assert [gpu.name for gpu in gpus(admin)] == ["gpu-0", "gpu-1", "gpu-2"]
        (claim,) = (c for c in seen.claims if c["metadata"]["namespace"] == "admin-access")
        results = claim["status"]["allocation"]["devices"]["results"]
        assert [result["adminAccess"] for result in results] == [True] * 3
        await assert_good(local)


async def test_example_8_gets_one_gpu_that_its_selectors_pick() -> None:
    async with a_local_system(ONE_NODE) as local:
        await local.apply(8)
        await local.cluster.settled()
        seen = await local.cluster.look()
        assert len(gpus(seen.containers["cel-selector/pod0/ctr0"])) == 1
        await assert_good(local)


async def test_a_pod_that_cannot_have_its_devices_is_told_why() -> None:
    async with a_local_system(Layout(nodes=("worker-0",), gpus=1)) as local:
        await local.apply(2)

        async def told() -> list[str]:
            events = await local.api.list("/api/v1/namespaces/basic-multiple-requests/events")
            return [event["message"] for event in events if event["type"] == "Warning"]

        (message,) = await until(told, "the pod is told why it waits")
        assert "0/1 nodes" in message


async def test_a_log_that_is_kept_goes_on_with_the_next_cluster(tmp_path: Path) -> None:
    for _ in range(2):
        async with a_local_system(ONE_NODE, keep=tmp_path) as local:
            await local.apply(1)
            await local.cluster.settled()
            await assert_good(local)


async def test_killed_parts_come_back_and_the_end_is_the_same() -> None:
    layout = Layout(nodes=("worker-0",), inventories=2, allocators=2, bridges=2)
    async with a_local_system(layout) as local:
        parts = ("allocator", "inventory", "api-bridge", "node-agent-worker-0", "nats")
        for number, part in enumerate(parts, start=1):
            local.system.kill(part)
            await local.apply(number)
        await local.cluster.settled()
        await local.system.ready()
        await assert_good(local)
        assert {local.system.supervisor.child(part).starts for part in parts} == {2}
