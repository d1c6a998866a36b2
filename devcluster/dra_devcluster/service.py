"""Puts a devcluster together: API server, controllers and kubelet stand-in, in one process."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import structlog

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.routes import application
from dra_devcluster.controllers.claims import ClaimController
from dra_devcluster.controllers.garbage import GarbageCollector, NamespaceController
from dra_devcluster.controllers.loop import run
from dra_devcluster.controllers.scheduler import Scheduler
from dra_devcluster.kubeconfig import write_kubeconfig
from dra_devcluster.kubelet.connection import Connection
from dra_devcluster.kubelet.service import WIPE_AFTER_SECONDS, KubeletSettings, run_kubelets
from dra_devcluster.listener import Listener
from dra_devcluster.settings import Settings

log = structlog.get_logger()


@asynccontextmanager
async def control_plane(cluster: Cluster, host: str, port: int) -> AsyncIterator[str]:
    """API server and controllers for as long as the context lasts; yields the server's URL."""
    async with AsyncExitStack() as stack:
        listener = await stack.enter_async_context(Listener(application(cluster), host, port))
        tasks = [
            asyncio.create_task(run(cluster, ClaimController(cluster))),
            asyncio.create_task(run(cluster, GarbageCollector(cluster))),
            asyncio.create_task(run(cluster, NamespaceController(cluster))),
            asyncio.create_task(run(cluster, Scheduler(cluster))),
        ]
        for task in tasks:
            task.add_done_callback(_tell_failure)
            stack.push_async_callback(_ended, task)
        yield listener.url


def _tell_failure(task: asyncio.Task[None]) -> None:
    """Says at once that a controller is gone; it is raised when the rest ends."""
    if not task.cancelled() and task.exception() is not None:
        log.error("a controller ended: a fault of ours", exc_info=task.exception())


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
