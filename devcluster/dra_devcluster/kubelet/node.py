"""One pretended node: registers it, keeps up with its drivers and runs its pods."""

import asyncio
from typing import Final

import structlog

from dra_devcluster.kubelet.claims import ClaimCache
from dra_devcluster.kubelet.client import (
    CONFLICT,
    MERGE,
    Client,
    Object,
    RefusedError,
    ServerAwayError,
)
from dra_devcluster.kubelet.logs import LogBook
from dra_devcluster.kubelet.place import Place, node_object, node_status
from dra_devcluster.kubelet.plugins import PluginRegistry
from dra_devcluster.kubelet.pods import PodLife, Surroundings
from dra_devcluster.kubelet.reflector import reflect
from dra_devcluster.kubelet.slices import SliceWiper
from dra_devcluster.kubelet.times import now

FINISHED: Final = ("Succeeded", "Failed")
NOT_READY: Final = "node.kubernetes.io/not-ready"
REGISTER_PAUSE: Final = 1.0
log = structlog.get_logger()


class Node:
    """A node for as long as ``run`` runs."""

    def __init__(
        self, client: Client, place: Place, logs: LogBook, wipe_after: float | None
    ) -> None:
        self._client = client
        self._place = place
        self._registry = PluginRegistry(place.name, place.plugins_registry)
        claims = ClaimCache(client, self._registry)
        self._around = Surroundings(place, client, claims, logs)
        self._wipe_after = wipe_after
        self._lives: dict[str, PodLife] = {}
        self._over: set[str] = set()
        """Pods that have ended here, or are gone from the API; forgotten once they are both."""

    async def run(self) -> None:
        """Until cancelled; the node object stays afterwards, as a real one does."""
        self._place.make_folders()
        await self._register()
        async with asyncio.TaskGroup() as tasks:
            if self._wipe_after is not None:
                wiper = SliceWiper(self._client, self._place.name, self._registry, self._wipe_after)
                await wiper.wipe_all()
                tasks.create_task(wiper.run())
            tasks.create_task(self._registry.run())
            await self._follow_pods(tasks)

    async def _register(self) -> None:
        while True:
            try:
                await register(self._client, self._place)
            except ServerAwayError as away:
                log.warning("node not registered, trying again", reason=str(away))
                await asyncio.sleep(REGISTER_PAUSE)
            else:
                log.info("node registered", node=self._place.name)
                return

    async def _follow_pods(self, tasks: asyncio.TaskGroup) -> None:
        mine = {"fieldSelector": f"spec.nodeName={self._place.name}"}
        async for uid, pod in reflect(self._client, "/api/v1/pods", mine):
            life = self._lives.get(uid)
            if life is not None and pod is not None:
                life.saw(pod)
            elif life is not None:
                life.saw_gone()
                self._forget(uid)
            elif pod is not None and pod.get("status", {}).get("phase") not in FINISHED:
                self._begin(uid, pod, tasks)

    def _begin(self, uid: str, pod: Object, tasks: asyncio.TaskGroup) -> None:
        self._lives[uid] = life = PodLife(pod, self._around)
        task = tasks.create_task(life.run())
        task.add_done_callback(lambda _: self._forget(uid))

    def _forget(self, uid: str) -> None:
        """Notes an end; a late event about a pod that has ended here begins no new life of it."""
        if uid in self._over:
            self._over.discard(uid)
            self._lives.pop(uid, None)
        else:
            self._over.add(uid)


async def register(client: Client, place: Place) -> None:
    """Create the Node if there is none, say that it is ready, and lift the taint for that.

    On a real cluster the taint is lifted by a controller; where that one is off, nobody would.
    """
    path = f"/api/v1/nodes/{place.name}"
    try:
        await client.create("/api/v1/nodes", node_object(place))
    except RefusedError as refused:
        if refused.code != CONFLICT:
            raise
    await client.patch(f"{path}/status", {"status": node_status(place, now())}, MERGE)
    node = await client.get(path)
    taints = node["spec"].get("taints", [])
    kept = [taint for taint in taints if taint["key"] != NOT_READY]
    if kept != taints:
        await client.patch(path, {"spec": {"taints": kept or None}}, MERGE)
