"""A whole devcluster inside a test's own event loop, and short ways to ask it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from contract.kubernetes_api.claims import AT, consumer
from contract.kubernetes_api.client import CORE, DRA, JSON_PATCH, Api
from contract.kubernetes_api.pods import UNGATE
from waiting import until

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.kubelet.connection import Connection
from dra_devcluster.kubelet.place import Place
from dra_devcluster.kubelet.service import KubeletSettings, run_kubelets
from dra_devcluster.service import control_plane
from e2e.controlplane.objects import a_claim, a_pod, an_allocation, from_claim

NODE = "node-a"
PODS = f"{CORE}/namespaces/default/pods"
CLAIMS = f"{DRA}/namespaces/default/resourceclaims"


class Running(msgspec.Struct, frozen=True):
    """A devcluster that runs."""

    api: Api
    url: str
    root: Path

    @property
    def folder(self) -> Path:
        """The node's folder."""
        return self.root / NODE

    async def allocated_claim(self, name: str = "one") -> str:
        """A claim that holds ``gpu-0`` of the node; returns its uid."""
        claim = await self.api.create(CLAIMS, a_claim(name))
        status = {"allocation": an_allocation(NODE, "gpu-0", AT)}
        (await self.api.merge(f"{CLAIMS}/{name}/status", {"status": status})).ok()
        return str(claim["metadata"]["uid"])

    async def start_pod(self, name: str, claim: str = "one", **spec: Any) -> Any:
        """A pod that uses the claim, reserved and without its gate."""
        grace = {"terminationGracePeriodSeconds": 1}
        pod = await self.api.create(PODS, a_pod(name, [from_claim("gpu", claim)], **grace, **spec))
        reserved = (await self.api.get(f"{CLAIMS}/{claim}"))["status"].get("reservedFor", [])
        status = {"status": {"reservedFor": [*reserved, consumer(pod)]}}
        (await self.api.merge(f"{CLAIMS}/{claim}/status", status)).ok()
        (await self.api.call("PATCH", f"{PODS}/{name}", UNGATE, JSON_PATCH)).ok()
        return pod

    async def phase(self, name: str) -> str:
        return str((await self.api.get(f"{PODS}/{name}"))["status"]["phase"])

    async def until_running(self, name: str) -> None:
        async def runs() -> bool:
            return await self.phase(name) == "Running"

        await until(runs, f"pod {name} runs")

    async def until_gone(self, path: str) -> None:
        async def gone() -> bool:
            return not await self.api.exists(path)

        await until(gone, f"{path} is gone")

    async def log(self, name: str, container: str = "main") -> list[str]:
        answer = await self.api.call("GET", f"{PODS}/{name}/log?container={container}")
        return str(answer.body.get("message", "")).splitlines()

    async def event_messages(self, reason: str) -> list[str]:
        events = await self.api.get(f"{CORE}/namespaces/default/events")
        return [item["message"] for item in events["items"] if item["reason"] == reason]


@asynccontextmanager
async def kubelet(
    api: Api, url: str, place: Place, wipe_after: float | None
) -> AsyncIterator[None]:
    """The stand-in for one node of any API server, from its registration on."""
    settings = KubeletSettings(root=place.root, places=[place], wipe_after=wipe_after)
    running = asyncio.create_task(run_kubelets(Connection(url), settings))

    async def registered() -> bool:
        assert not running.done(), running.exception()
        answer = await api.call("GET", f"{CORE}/nodes/{place.name}")
        return answer.code == 200 and "conditions" in answer.body["status"]

    try:
        await until(registered, "the node is registered")
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


@asynccontextmanager
async def devcluster(root: Path) -> AsyncIterator[Running]:
    """API server, controllers and the kubelet of one node, which soon wipes lost slices."""
    place = Place(name=NODE, root=root)
    async with (
        control_plane(Cluster(), "127.0.0.1", 0) as url,
        Api(url) as api,
        kubelet(api, url, place, wipe_after=0.5),
    ):
        yield Running(api, url, root)
