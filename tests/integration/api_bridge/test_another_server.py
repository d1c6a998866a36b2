"""A server that comes back as another one: the bridge starts again where it cannot just go on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from waiting import until

from dra_api_bridge.edge.api import connected
from dra_api_bridge.service import Bridge
from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.routes import application
from dra_devcluster.kubeconfig import write_kubeconfig
from dra_devcluster.listener import Listener
from dra_shared.log.memory import MemoryLog
from dra_shared.runtime.endpoint import Readiness
from dra_shared.runtime.process import StartAgainError

RESOURCES = "/apis/resource.k8s.io/v1"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def without_taint_rules(request: web.Request, handler: Handler) -> web.StreamResponse:
    """As of a server where their API is not enabled."""
    if request.path != RESOURCES:
        return await handler(request)
    names = ("resourceclaims", "deviceclasses", "resourceslices")
    return web.json_response({"resources": [{"name": name} for name in names]})


@asynccontextmanager
async def serving(cluster: Cluster, port: int = 0, *, rules: bool) -> AsyncIterator[Listener]:
    app = application(cluster)
    if not rules:
        app.middlewares.append(without_taint_rules)
    async with Listener(app, "127.0.0.1", port) as listener:
        yield listener


async def test_what_is_served_elsewhere_calls_for_a_new_start(tmp_path: Path) -> None:
    cluster, ready, log = Cluster(), Readiness(), MemoryLog()

    async def is_ready() -> bool:
        return not ready.lacks

    async with serving(cluster, rules=True) as first:
        write_kubeconfig(tmp_path / "kubeconfig", first.url)
        async with connected(str(tmp_path / "kubeconfig")) as api:
            epoch = await log.open_epoch("api-bridge", "test")
            bridge = asyncio.create_task(Bridge(log, epoch, ready).run(api))
            await until(is_ready, "the bridge is ready")
            await first.__aexit__()
            async with serving(cluster, first.port, rules=False):
                await asyncio.wait((bridge,), timeout=10)
                with pytest.raises(ExceptionGroup) as ended:
                    bridge.result()
    assert ended.value.subgroup(StartAgainError)
