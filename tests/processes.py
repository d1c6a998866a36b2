"""Parts of the system as processes of their own, as they run in a cluster."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from servers import NatsServer

from dra_shared.runtime.lease import BUCKET


@asynccontextmanager
async def a_part(
    module: str, server: NatsServer, name: str, *, errors: int | None = None, **settings: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """One instance of a part, started now; killed on leaving if it did not end before.

    `errors`: where its log goes, such as PIPE.
    """
    environment = os.environ | {
        "NATS_URL": server.url,
        "HTTP_PORT": "-1",
        "INSTANCE": name,
        **settings,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, env=environment, stderr=errors
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def questions_for_leases(client: Client) -> Subscription:
    """Hears each time that somebody asks whether a lease is free; who holds one never asks."""
    return await client.subscribe(f"$JS.API.STREAM.MSG.GET.KV_{BUCKET}")
