"""What the kubelet stand-in does with pods, drivers and slices, over real sockets."""

from typing import Any

from contract.kubernetes_api.client import CORE, DRA, Api
from unit.devcluster import drivers
from unit.devcluster.running import CLAIMS, NODE, PODS, Running, kubelet
from waiting import until

from dra_devcluster.kubelet.place import Place
from e2e.controlplane.objects import a_claim, a_pod, a_slice, from_claim


async def test_a_pod_sees_the_environment_of_its_prepared_devices(cluster: Running) -> None:
    with drivers.running(cluster.folder) as driver:
        uid = await cluster.allocated_claim()
        await cluster.start_pod("pod")
        await cluster.until_running("pod")
        lines = await cluster.log("pod")
        assert driver.prepared == [uid]
        assert f'declare -x GPU_CLAIM="{uid}"' in lines
        assert 'declare -x COMMON="yes"' in lines
        assert "# device node /dev/gpu0" in lines
        variables = [line for line in lines if line.startswith("declare")]
        assert variables == sorted(variables)


async def test_only_containers_that_name_a_claim_see_its_devices(cluster: Running) -> None:
    with drivers.running(cluster.folder):
        await cluster.allocated_claim()
        claims = {"claims": [{"name": "gpu", "request": "gpu"}]}
        containers = [
            {"name": "with", "image": "none", "resources": claims},
            {"name": "without", "image": "none"},
        ]
        initial = [{"name": "first", "image": "none", "resources": claims}]
        await cluster.start_pod("pod", containers=containers, initContainers=initial)
        await cluster.until_running("pod")
        seen = {
            name: any("GPU_CLAIM" in line for line in await cluster.log("pod", name))
            for name in ("first", "with", "without")
        }
        assert seen == {"first": True, "with": True, "without": False}


async def test_a_shared_claim_is_prepared_once_and_undone_by_the_last_pod(
    cluster: Running,
) -> None:
    with drivers.running(cluster.folder) as driver:
        uid = await cluster.allocated_claim()
        for name in ("first", "second"):
            await cluster.start_pod(name)
            await cluster.until_running(name)
        await cluster.api.call("DELETE", f"{PODS}/first")
        await cluster.until_gone(f"{PODS}/first")
        assert (driver.prepared, driver.unprepared) == ([uid], [])
        await cluster.api.call("DELETE", f"{PODS}/second")
        await cluster.until_gone(f"{PODS}/second")
        assert driver.unprepared == [uid]


async def test_a_failed_prepare_is_told_and_tried_again(cluster: Running) -> None:
    with drivers.running(cluster.folder) as driver:
        driver.fails = "no such device"
        await cluster.allocated_claim()
        await cluster.start_pod("pod")

        async def told() -> bool:
            messages = await cluster.event_messages("FailedPrepareDynamicResources")
            return any("could not prepare claim one: no such device" in one for one in messages)

        await until(told, "an event says what failed")
        driver.fails = ""
        await cluster.until_running("pod")


async def test_a_pod_waits_for_a_driver_that_is_not_there(cluster: Running) -> None:
    await cluster.allocated_claim()
    await cluster.start_pod("pod")

    async def told() -> Any:
        return await cluster.event_messages("FailedPrepareDynamicResources")

    assert await until(told, "an event") == ["DRA driver gpu.example.com is not registered"]
    with drivers.running(cluster.folder):
        await cluster.until_running("pod")


async def test_a_pod_ends_only_when_its_devices_are_given_back(cluster: Running) -> None:
    with drivers.running(cluster.folder) as driver:
        await cluster.allocated_claim()
        await cluster.start_pod("pod")
        await cluster.until_running("pod")
        driver.fails = "busy"
        await cluster.api.call("DELETE", f"{PODS}/pod")

        async def told() -> Any:
            return await cluster.event_messages("FailedUnprepareDynamicResources")

        await until(told, "an event says what failed")
        assert await cluster.api.exists(f"{PODS}/pod")
        driver.fails = ""
        await cluster.until_gone(f"{PODS}/pod")


async def test_devices_of_a_pod_taken_away_by_force_are_given_back(cluster: Running) -> None:
    with drivers.running(cluster.folder) as driver:
        uid = await cluster.allocated_claim()
        await cluster.start_pod("pod")
        await cluster.until_running("pod")
        await cluster.api.call("DELETE", f"{PODS}/pod?gracePeriodSeconds=0")

        async def undone() -> bool:
            return driver.unprepared == [uid]

        await until(undone, "the claim is unprepared")


async def test_a_driver_that_speaks_only_the_older_version_is_used(cluster: Running) -> None:
    versions = ("v9.DRAPlugin", "v1beta1.DRAPlugin")
    with drivers.running(cluster.folder, versions) as driver:
        uid = await cluster.allocated_claim()
        await cluster.start_pod("pod")
        await cluster.until_running("pod")
        assert driver.prepared == [uid]


async def test_a_driver_that_was_started_again_is_used_again(cluster: Running) -> None:
    uid = await cluster.allocated_claim()
    with drivers.running(cluster.folder):
        await cluster.start_pod("pod")
        await cluster.until_running("pod")
    with drivers.running(cluster.folder) as second:
        await cluster.api.call("DELETE", f"{PODS}/pod")
        await cluster.until_gone(f"{PODS}/pod")
        assert (second.prepared, second.unprepared) == ([], [uid])


async def test_a_plugin_that_is_no_driver_is_refused_with_a_reason(cluster: Running) -> None:
    with drivers.running(cluster.folder, kind="CSIPlugin") as driver:

        async def refused() -> str:
            return driver.refusal

        assert "CSIPlugin" in await until(refused, "the plugin is told")
        assert not driver.registered


async def test_slices_go_when_their_driver_has_been_away_long_enough(cluster: Running) -> None:
    slices = f"{DRA}/resourceslices"
    mine = f"{slices}/{NODE}-gpu.example.com"
    with drivers.running(cluster.folder) as driver:

        async def registered() -> bool:
            return driver.registered

        await until(registered, "the driver is registered")
        await cluster.api.create(slices, a_slice(NODE, 1))
        other = {**a_slice(NODE, 1, "net.example.com")}
        await cluster.api.create(slices, other)
    await cluster.until_gone(mine)
    assert await cluster.api.exists(f"{slices}/{NODE}-net.example.com")


async def test_the_slices_of_a_node_go_when_its_kubelet_starts(cluster: Running) -> None:
    slices = f"{DRA}/resourceslices"
    for node in ("node-b", "node-c"):
        await cluster.api.create(slices, a_slice(node, 1))
    async with kubelet(cluster.api, cluster.url, Place(name="node-b", root=cluster.root), 0.5):
        await cluster.until_gone(f"{slices}/node-b-gpu.example.com")
    assert await cluster.api.exists(f"{slices}/node-c-gpu.example.com")


async def test_a_kubelet_leaves_slices_alone_when_told_to(cluster: Running) -> None:
    await cluster.api.create(f"{DRA}/resourceslices", a_slice("node-b", 1))
    place = Place(name="node-b", root=cluster.root)
    async with kubelet(cluster.api, cluster.url, place, wipe_after=None):
        await cluster.api.create(PODS, a_pod("there", nodeName="node-b"))
        await cluster.until_running("there")
    assert await cluster.api.exists(f"{DRA}/resourceslices/node-b-gpu.example.com")


async def test_a_pod_without_claims_runs_at_once(cluster: Running) -> None:
    environment = [{"name": "QUOTED", "value": 'a "$HOME" \\ `b`'}]
    container = {"name": "main", "image": "none", "env": environment}
    await cluster.api.create(PODS, a_pod("plain", containers=[container]))
    await cluster.until_running("plain")
    lines = await cluster.log("plain")
    assert 'declare -x QUOTED="a \\"\\$HOME\\" \\\\ \\`b\\`"' in lines
    assert 'declare -x HOSTNAME="plain"' in lines


async def test_the_kubelet_says_that_it_is_alive(cluster: Running) -> None:
    node = await cluster.api.get(f"{CORE}/nodes/{NODE}")
    port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    async with Api(f"http://127.0.0.1:{port}") as alive:
        assert (await alive.call("GET", "/healthz")).code == 200


async def test_a_claim_not_reserved_for_the_pod_is_not_prepared(cluster: Running) -> None:
    with drivers.running(cluster.folder) as driver:
        await cluster.api.create(CLAIMS, a_claim("one"))
        await cluster.api.create(PODS, a_pod("pod", [from_claim("gpu", "one")]))
        assert await cluster.phase("pod") == "Pending"
        assert driver.prepared == []
