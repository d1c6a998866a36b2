"""The kubelet stand-in on a real control plane: what it does on the devcluster it does there."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from contract.kubernetes_api.claims import AT, consumer
from contract.kubernetes_api.client import CORE, DRA, JSON_PATCH, Api
from contract.kubernetes_api.pods import UNGATE
from unit.devcluster import drivers
from waiting import until

from dra_devcluster.kubelet.connection import from_kubeconfig
from dra_devcluster.kubelet.place import Place
from dra_devcluster.kubelet.service import KubeletSettings, run_kubelets
from e2e.controlplane import ControlPlane
from e2e.controlplane.objects import a_claim, a_pod, a_slice, an_allocation, from_claim

NODE = "stand-in"


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder with a path short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="dra-") as folder:
        yield Path(folder)


@pytest_asyncio.fixture(loop_scope="session")
async def api(control_plane: ControlPlane, root: Path) -> AsyncIterator[Api]:
    """The real API server, with one node run by the stand-in."""
    found = from_kubeconfig(control_plane.kubeconfig())
    settings = KubeletSettings(root=root, places=[Place(name=NODE)], wipe_after=0.5)
    kubelets = asyncio.create_task(run_kubelets(found, settings))
    async with Api(found.url, found.headers, found.tls) as client:
        yield client
        kubelets.cancel()
        await asyncio.wait([kubelets])
        await client.call("DELETE", f"{CORE}/nodes/{NODE}")


async def kubelet_address(api: Api) -> str:
    """Where the stand-in serves logs, as the node's status says."""

    async def endpoint() -> str:
        found = await api.get(f"{CORE}/nodes?fieldSelector=metadata.name%3D{NODE}")
        status = found["items"][0]["status"] if found["items"] else {}
        port = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port")
        return f"http://{status['addresses'][0]['address']}:{port}" if port else ""

    return await until(endpoint, "the node is registered")


async def test_a_pod_runs_with_its_devices_and_gives_them_back(
    api: Api, root: Path, namespace: str
) -> None:
    claims, pods = (
        f"{DRA}/namespaces/{namespace}/resourceclaims",
        f"{CORE}/namespaces/{namespace}/pods",
    )
    address = await kubelet_address(api)
    with drivers.running(root / NODE) as driver:
        claim = await api.create(claims, a_claim("one"))
        pod = await api.create(
            pods, a_pod("pod", [from_claim("gpu", "one")], terminationGracePeriodSeconds=1)
        )
        allocation = an_allocation(NODE, "gpu-0", AT)
        status = {"allocation": allocation, "reservedFor": [consumer(pod)]}
        (await api.merge(f"{claims}/one/status", {"status": status})).ok()
        (await api.call("PATCH", f"{pods}/pod", UNGATE, JSON_PATCH)).ok()

        async def runs() -> bool:
            return bool((await api.get(f"{pods}/pod"))["status"]["phase"] == "Running")

        await until(runs, "the pod runs")
        async with Api(address) as kubelet:
            log = await kubelet.call("GET", f"/containerLogs/{namespace}/pod/main")
        uid = claim["metadata"]["uid"]
        assert f'declare -x GPU_CLAIM="{uid}"' in log.body["message"]
        await api.call("DELETE", f"{pods}/pod")

        async def gone() -> bool:
            return not await api.exists(f"{pods}/pod")

        await until(gone, "the pod goes")
        assert (driver.prepared, driver.unprepared) == ([uid], [uid])


async def test_slices_of_a_driver_that_went_away_are_wiped(api: Api, root: Path) -> None:
    slices = f"{DRA}/resourceslices"
    await kubelet_address(api)
    with drivers.running(root / NODE) as driver:

        async def registered() -> bool:
            return driver.registered

        await until(registered, "the driver is registered")
        await api.create(slices, a_slice(NODE, 1))

    async def wiped() -> bool:
        return not await api.exists(f"{slices}/{NODE}-gpu.example.com")

    await until(wiped, "the slice is wiped")
