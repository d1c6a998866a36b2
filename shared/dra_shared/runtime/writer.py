"""Being the only writer: stand by for the lease, open an epoch, serve until either is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from nats.aio.client import Client
from prometheus_client import Gauge

from dra_shared.log.protocol import Epoch, EventLog
from dra_shared.runtime.lease import Lease
from dra_shared.runtime.process import StartAgainError

ACTIVE: Final = Gauge("dra_active", "1 while this process is the one that writes", ["writer"])

_log = structlog.get_logger()


async def as_only_writer(
    client: Client,
    log: EventLog,
    writer: str,
    holder: str,
    serve: Callable[[Epoch], Awaitable[None]],
) -> None:
    """Runs `serve` once this process may write; raises StartAgainError when it no longer may.

    Raises what `serve` raises, FencedError among it.
    """
    lease = Lease(client, writer, holder)
    ACTIVE.labels(writer=writer).set(0)
    _log.info("standing by", writer=writer, holder=holder)
    await lease.acquire()
    try:
        epoch = await log.open_epoch(writer, holder)
        ACTIVE.labels(writer=writer).set(1)
        _log.info("writing from here on", writer=writer, epoch=epoch.sequence)
        await _serve_while_held(lease, serve(epoch))
    finally:
        ACTIVE.labels(writer=writer).set(0)
        await lease.release()


async def _serve_while_held(lease: Lease, work: Awaitable[None]) -> None:
    serving = asyncio.ensure_future(work)
    keeping = asyncio.create_task(lease.keep())
    try:
        await asyncio.wait((serving, keeping), return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            message = "the lease was lost"
            raise StartAgainError(message)
        serving.result()
    finally:
        for task in (serving, keeping):
            task.cancel()
        await asyncio.gather(serving, keeping, return_exceptions=True)
