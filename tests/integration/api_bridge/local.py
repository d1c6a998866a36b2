"""A bridge on a devcluster in this process, with a log on real NATS."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from waiting import until

from dra_api_bridge.edge.api import connected
from dra_api_bridge.service import Bridge
from dra_devcluster.api.cluster import Cluster
from dra_devcluster.kubeconfig import write_kubeconfig
from dra_devcluster.service import control_plane
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import Record
from dra_shared.runtime.bus import connect
from dra_shared.runtime.endpoint import Readiness


class Bridged(msgspec.Struct, frozen=True):
    """What a test looks at and changes: the cluster, and the log that the bridge writes."""

    cluster: Cluster
    log: JetStreamLog

    async def facts(self, kind: type[Any]) -> list[Any]:
        """All facts of a kind."""
        found = (record.envelope.fact for record in await self.records())
        return [fact for fact in found if isinstance(fact, kind)]

    async def records(self) -> list[Record]:
        """The whole log."""
        last = await self.log.last_sequence()
        return [record async for batch in self.log.read(until=last) for record in batch]


@asynccontextmanager
async def bridging(cluster: Cluster, nats_url: str, folder: Path) -> AsyncIterator[Bridged]:
    """A bridge at work on the cluster; ended on leaving."""
    log = JetStreamLog(await connect(nats_url, "test", patience=10))
    await log.ensure_stream()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(log.close)
        url = await stack.enter_async_context(control_plane(cluster, "127.0.0.1", 0))
        write_kubeconfig(folder / "kubeconfig", url)
        api = await stack.enter_async_context(connected(str(folder / "kubeconfig")))
        ready = Readiness()
        epoch = await log.open_epoch("api-bridge", "test")
        running = asyncio.create_task(Bridge(log, epoch, ready).run(api))

        async def is_ready() -> bool:
            assert not running.done(), running.exception()
            return not ready.lacks

        try:
            await until(is_ready, "the bridge is ready")
            yield Bridged(cluster, log)
            assert not running.done(), running.exception()
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
