"""The whole system on the real control plane: every service as a process, and words for tests."""

import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import fleet

from dra_cli.local.layout import Layout
from dra_cli.local.system import LocalSystem
from e2e.controlplane import ControlPlane, Identity, eventually
from e2e.controlplane.objects import a_pod, from_template

RESOURCE = "/apis/resource.k8s.io/v1"
Json = dict[str, Any]


class Whole:
    """A running system on a control plane."""

    def __init__(self, plane: ControlPlane, system: LocalSystem) -> None:
        self.plane = plane
        self.system = system

    async def slices_of(self, nodes: Iterable[str]) -> list[Json]:
        """The slices of these nodes; other tests' may still be on their way out."""
        wanted = set(nodes)
        slices = await self.items(f"{RESOURCE}/resourceslices")
        return [found for found in slices if found["spec"].get("nodeName") in wanted]

    async def has_slices(self, nodes: Iterable[str], each: int = 1) -> None:
        """Waits until the API server shows so many slices for each of the nodes."""
        wanted = tuple(nodes)

        async def enough() -> bool:
            return len(await self.slices_of(wanted)) == each * len(wanted)

        await eventually(f"{each} slices for each of {len(wanted)} nodes", enough, seconds=60)

    async def items(self, path: str) -> list[Json]:
        """The objects of a collection."""
        found: list[Json] = (await self.plane.api("GET", path))["items"]
        return found

    async def create_pods(self, namespace: str, template: str, names: Iterable[str]) -> None:
        """Creates pods with one claim each from the template."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        wanted = [from_template("gpu", template)]
        await asyncio.gather(*(self.plane.api("POST", path, a_pod(name, wanted)) for name in names))

    async def all_bound(self, namespace: str, count: int, seconds: float = 90) -> list[Json]:
        """Waits until the namespace has that many pods, each on a node; returns them."""
        path = f"/api/v1/namespaces/{namespace}/pods"

        async def bound() -> list[Json] | None:
            pods = await self.items(path)
            here = [pod for pod in pods if pod["spec"].get("nodeName")]
            return here if len(here) == len(pods) == count else None

        return await eventually(f"{count} pods bound", bound, seconds=seconds)

    async def holders(self, namespace: str) -> Counter[str]:
        """How many claims of the namespace hold each device."""
        claims = await self.items(f"{RESOURCE}/namespaces/{namespace}/resourceclaims")
        return Counter(device for claim in claims for device in devices_of(claim))

    async def verified(self) -> str:
        """The verdict of `dra verify`; fails if there is a finding."""
        command = (sys.executable, "-m", "dra_cli", "verify", "--nats", self.system.nats_url)
        run = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said = (await run.communicate())[0].decode()
        assert run.returncode == 0, said
        return said


def devices_of(claim: Json) -> Iterator[str]:
    """The devices that a claim's status gives it."""
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    for result in results:
        yield f"{result['driver']}/{result['pool']}/{result['device']}"


@asynccontextmanager
async def whole_system(
    plane: ControlPlane, *, nodes: Iterable[str] = (), agents: tuple[str, ...] = (), **layout: Any
) -> AsyncIterator[Whole]:
    """The system on the control plane: `agents` get real agents and kubelets, `nodes` only facts."""
    folder = Path(tempfile.mkdtemp(prefix="dra", dir="/tmp"))
    made = Layout(
        nodes=agents,
        kubeconfig=plane.kubeconfig(Identity.BRIDGE),
        kubelets=bool(agents),
        kubelet_kubeconfig=plane.kubeconfig(Identity.ADMIN),
        **({"environment": {} if agents else fleet.SILENT_FOR_EVER} | layout),
    )
    try:
        async with LocalSystem(folder, made) as system:
            await fleet.report(system.nats_url, nodes)
            yield Whole(plane, system)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_cpu(pod: Mapping[str, Any], cpu: str) -> Json:
    """The pod, its container asking for so much CPU."""
    spec = pod["spec"]
    container = spec["containers"][0]
    resources = {**container["resources"], "requests": {"cpu": cpu}}
    return {**pod, "spec": {**spec, "containers": [{**container, "resources": resources}]}}
