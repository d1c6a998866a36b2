"""Parts of the system as processes of their own, as they run in a cluster."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from servers import NatsServer

from dra_shared.runtime.lease import BUCKET

LEAN = {"PYTHONPATH": str(Path(__file__).parent / "lean")}
"""Hides from a process what is installed for development and is not in the images of the inventory,
the allocator and the node agent: it runs as there, and starts in little more than half the time."""


def environment(server_url: str, **settings: str) -> dict[str, str]:
    """For a part that reads and writes on this server, with these settings."""
    return {**os.environ, "NATS_URL": server_url, "HTTP_PORT": "-1", **settings}


@asynccontextmanager
async def a_part(
    module: str, server: NatsServer, name: str, *, errors: int | None = None, **settings: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """One instance of a part, started now; killed on leaving if it did not end before.

    `errors`: where its log goes, such as PIPE.
    """
    lean = {} if module == "dra_api_bridge" else LEAN
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        env=environment(server.url, INSTANCE=name, **lean, **settings),
        stderr=errors,
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
