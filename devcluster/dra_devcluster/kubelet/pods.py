"""The life of one pod on its node: prepare, run, wait for its end, unprepare, let it go.

One task a pod. Whatever fails is tried again with growing pauses until it works or the pod goes;
what keeps it back is told once as an event.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import structlog

from dra_devcluster.kubelet import status
from dra_devcluster.kubelet.cdi import CdiError, edits_for
from dra_devcluster.kubelet.claims import ClaimCache, ClaimNotUsableError, devices_of
from dra_devcluster.kubelet.client import (
    STRATEGIC,
    Client,
    Object,
    RefusedError,
    ServerAwayError,
)
from dra_devcluster.kubelet.driver import DriverError
from dra_devcluster.kubelet.environment import environment, log_lines
from dra_devcluster.kubelet.logs import LogBook
from dra_devcluster.kubelet.place import Place
from dra_devcluster.kubelet.times import now

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 10.0
PREPARE_FAILED: Final = "FailedPrepareDynamicResources"
UNPREPARE_FAILED: Final = "FailedUnprepareDynamicResources"
CREATE_FAILED: Final = "Failed"
PROBLEMS: Final = (ClaimNotUsableError, DriverError, CdiError, ServerAwayError, RefusedError)
log = structlog.get_logger()


class Surroundings(msgspec.Struct, frozen=True):
    """What the pods of one node share."""

    place: Place
    client: Client
    claims: ClaimCache
    logs: LogBook


class PodLife:
    """One pod from its arrival on the node to its end."""

    def __init__(self, pod: Object, around: Surroundings) -> None:
        self._pod = pod
        self._around = around
        self._ending = asyncio.Event()
        self._told = ""
        self._log = log.bind(node=around.place.name, pod=pod["metadata"]["name"])
        if "deletionTimestamp" in pod["metadata"]:
            self._ending.set()

    @property
    def _path(self) -> str:
        metadata = self._pod["metadata"]
        return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"

    def saw(self, pod: Object) -> None:
        """The pod changed: only its status and its end matter here."""
        self._pod = pod
        if "deletionTimestamp" in pod["metadata"]:
            self._ending.set()

    def saw_gone(self) -> None:
        """The pod was taken away at once; its devices still have to be given back."""
        self._ending.set()

    async def run(self) -> None:
        """From start to end."""
        if self._ending.is_set():
            await self._around.claims.adopt(self._pod)
        else:
            await self._until_done(self._start, PREPARE_FAILED, until=self._ending)
            await self._ending.wait()
        uid = self._pod["metadata"]["uid"]
        await self._until_done(lambda: self._around.claims.release(uid), UNPREPARE_FAILED)
        await self._until_done(self._let_go, UNPREPARE_FAILED)
        self._log.info("pod ended")

    async def _until_done(
        self, step: Callable[[], Awaitable[None]], reason: str, until: asyncio.Event | None = None
    ) -> None:
        pause = FIRST_PAUSE
        while not (until and until.is_set()):
            try:
                await step()
            except PROBLEMS as problem:
                kind = CREATE_FAILED if isinstance(problem, CdiError) else reason
                await self._tell(kind, str(problem))
                await _pause(pause, until)
                pause = min(LONGEST_PAUSE, pause * 2)
            else:
                return

    async def _start(self) -> None:
        place, metadata = self._around.place, self._pod["metadata"]
        prepared = await self._around.claims.prepare(self._pod)
        spec = self._pod["spec"]
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            edits = edits_for(devices_of(container, prepared), place.cdi)
            lines = log_lines(environment(self._pod, container, edits), edits)
            self._around.logs.write(
                metadata["namespace"], metadata["name"], container["name"], lines
            )
        await self._report(status.running(self._pod, place.host, now()))
        self._log.info("pod running", claims=sorted(prepared))

    async def _tell(self, reason: str, message: str) -> None:
        """Say once what is wrong: in the log, as an event and in the containers' state."""
        if message == self._told:
            return
        self._told = message
        self._log.warning("pod is kept back", reason=reason, problem=message)
        event = status.failure_event(self._pod, self._around.place.name, reason, message, now())
        namespace = self._pod["metadata"]["namespace"]
        try:
            await self._around.client.create(f"/api/v1/namespaces/{namespace}/events", event)
            if not self._ending.is_set():
                waiting = status.starting(self._pod, "ContainerCreating", message, now())
                await self._report(waiting)
        except (ServerAwayError, RefusedError) as failed:
            self._log.warning("could not tell the API server", reason=str(failed))

    async def _report(self, new: Object) -> None:
        body = {"metadata": {"uid": self._pod["metadata"]["uid"]}, "status": new}
        await self._around.client.patch(f"{self._path}/status", body, STRATEGIC)

    async def _let_go(self) -> None:
        """Tell the API server that nothing of the pod is left."""
        metadata = self._pod["metadata"]
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        found = await self._around.client.find(self._path)
        if found and found["metadata"]["uid"] == metadata["uid"]:
            await self._around.client.delete(self._path, options)
            self._around.logs.forget(metadata["namespace"], metadata["name"])


async def _pause(seconds: float, until: asyncio.Event | None) -> None:
    if until is None:
        await asyncio.sleep(seconds)
        return
    try:
        await asyncio.wait_for(until.wait(), seconds)
    except TimeoutError:
        return
