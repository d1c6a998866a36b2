"""Puts a devcluster together: API server, controllers and kubelet stand-in, in one process."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import msgspec
import structlog

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.routes import application
from dra_devcluster.controllers.claims import ClaimController
from dra_devcluster.controllers.garbage import GarbageCollector, NamespaceController
from dra_devcluster.controllers.loop import Controller, run
from dra_devcluster.controllers.scheduler import Scheduler
from dra_devcluster.kubeconfig import write_kubeconfig
from dra_devcluster.kubelet.connection import Connection
from dra_devcluster.kubelet.service import WIPE_AFTER_SECONDS, KubeletSettings, run_kubelets
from dra_devcluster.listener import Listener
from dra_devcluster.settings import Settings

CONTROLLERS: Final[tuple[Callable[[Cluster], Controller[Any]], ...]] = (
    ClaimController,
    GarbageCollector,
    NamespaceController,
    Scheduler,
)
log = structlog.get_logger()


class ControllerEndedError(Exception):
    """A controller ended, which is a fault of ours: without it the cluster is not one."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the devcluster's {name} ended: a fault of ours, please report it")


@asynccontextmanager
async def control_plane(cluster: Cluster, host: str, port: int) -> AsyncIterator[str]:
    """API server and controllers for as long as the context lasts; yields the server's URL.

    When a controller ends, what runs in the context is cancelled. Raises ControllerEndedError.
    """
    owner = asyncio.current_task()
    async with AsyncExitStack() as stack:
        listener = await stack.enter_async_context(Listener(application(cluster), host, port))
        for kind in CONTROLLERS:
            task = asyncio.create_task(_run(cluster, kind(cluster)))
            stack.push_async_callback(_ended, task)
            task.add_done_callback(lambda task: _tell_failure(task, owner))
        yield listener.url


async def _run(cluster: Cluster, controller: Controller[Any]) -> None:
    try:
        await run(cluster, controller)
    except Exception as fault:
        raise ControllerEndedError(type(controller).__name__) from fault


def _tell_failure(task: asyncio.Task[None], owner: asyncio.Task[Any] | None) -> None:
    """Says at once that a controller is gone, and ends what relies on it."""
    if task.cancelled() or task.exception() is None:
        return
    log.error("a controller ended", exc_info=task.exception())
    if owner is not None:
        owner.cancel()


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel a task and see it end; a failure of its own is raised."""
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return


async def serve(settings: Settings) -> None:
    """Run everything until cancelled; says where on stdout as soon as it can be used."""
    for place in settings.nodes:
        msgspec.structs.replace(place, root=settings.root).make_folders()
    async with control_plane(Cluster(), settings.host, settings.port) as url:
        write_kubeconfig(settings.kubeconfig_path, url)
        sys.stdout.write(announcement(settings, url))
        sys.stdout.flush()
        if not settings.kubelet:
            await asyncio.Event().wait()
        kubelets = KubeletSettings(
            root=settings.root,
            places=settings.nodes,
            host=settings.host,
            port=settings.kubelet_port,
            wipe_after=WIPE_AFTER_SECONDS if settings.wipe_slices else None,
        )
        await run_kubelets(Connection(url), kubelets)


def announcement(settings: Settings, url: str) -> str:
    """Where everything is, for a person and for a program that waits for it."""
    lines = [
        f"API server  {url}",
        f"kubeconfig  export KUBECONFIG={settings.kubeconfig_path.absolute()}",
        *(f"node        {place.name}: {settings.root / place.name}" for place in settings.nodes),
    ]
    return "".join(f"{line}\n" for line in lines)
