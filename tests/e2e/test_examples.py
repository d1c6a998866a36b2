"""Examples 1 to 8 on the real control plane: each container sees what the example promises."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus

import aiohttp
import pytest
import pytest_asyncio

from dra_cli.demo.environment import parse
from dra_cli.demo.expectations import EXAMPLES, findings
from dra_cli.demo.manifests import EXAMPLES as FOLDER
from dra_cli.demo.manifests import load
from dra_cli.demo.objects import containers
from dra_cli.edge.rest import path_of
from e2e.controlplane import ApiError, ControlPlane, eventually
from e2e.whole import RESOURCE, Json, Whole, whole_system

AGENTS = ("real-0", "real-1")
GPUS = 8
pytestmark = pytest.mark.timeout(180)


@pytest_asyncio.fixture(loop_scope="session")
async def whole(control_plane: ControlPlane) -> AsyncIterator[Whole]:
    async with whole_system(control_plane, agents=AGENTS) as system:
        await system.has_slices(AGENTS)
        yield system
        await clean_up(system)
    for name in AGENTS:
        await control_plane.api("DELETE", f"/api/v1/nodes/{name}")


async def clean_up(whole: Whole) -> None:
    for namespace in EXAMPLES:
        await whole.plane.api("DELETE", f"/api/v1/namespaces/{namespace}")

    async def gone() -> bool:
        claims = await whole.items(f"{RESOURCE}/resourceclaims")
        return not any(claim["metadata"]["namespace"] in EXAMPLES for claim in claims)

    await eventually("all examples are gone", gone, seconds=60)


@contextmanager
def suppress_existing(manifest: Json) -> Iterator[None]:
    """The class may be there already, from another test."""
    try:
        yield
    except ApiError as refusal:
        if refusal.status != HTTPStatus.CONFLICT or manifest["kind"] != "DeviceClass":
            raise


async def example_pods(whole: Whole) -> list[Json]:
    pods = await whole.items("/api/v1/pods")
    return [pod for pod in pods if pod["metadata"]["namespace"] in EXAMPLES]


async def test_examples_1_to_8_give_the_promised_environment(whole: Whole) -> None:
    for manifest in load(FOLDER, range(1, 9)):
        with suppress_existing(manifest):
            await whole.plane.api("POST", path_of(manifest), manifest)

    async def all_run() -> bool:
        pods = await example_pods(whole)
        return bool(pods) and all(pod["status"].get("phase") == "Running" for pod in pods)

    await eventually("all pods run", all_run, seconds=90)
    printed = {}
    async with aiohttp.ClientSession(whole.system.api_url) as kubelets:
        for pod in await example_pods(whole):
            namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            for container in containers(pod):
                async with kubelets.get(f"/containerLogs/{namespace}/{name}/{container}") as log:
                    printed[f"{namespace}/{name}/{container}"] = parse(await log.text())
    assert {name.split("/")[0] for name in printed} == set(EXAMPLES)
    assert list(findings(printed, GPUS)) == []
    await whole.verified()
