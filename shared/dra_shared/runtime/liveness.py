"""Signs of life of the node agents: a key-value bucket with a time to live, never the log."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NoKeysError

from dra_shared.ids import escape, unescape
from dra_shared.runtime.lease import bucket

BUCKET: Final = "dra-alive"
TTL: Final = 6.0
"""Seconds after which a sign of life expires."""

BEAT: Final = 1.5
LOOK: Final = 1.0

_log = structlog.get_logger()


async def beat(client: Client, node: str) -> None:
    """Says that the node's agent lives, until cancelled."""
    while True:
        try:
            store = await bucket(client, BUCKET, TTL)
            await store.put(escape(node), b"")
        except (NatsError, TimeoutError) as error:
            _log.warning("cannot say that this agent lives", node=node, error=str(error))
        await asyncio.sleep(BEAT)


async def alive(client: Client) -> AsyncGenerator[frozenset[str]]:
    """The nodes whose agents live, again every second; nothing while NATS does not answer."""
    while True:
        try:
            store = await bucket(client, BUCKET, TTL)
            keys = await store.keys()
        except NoKeysError:
            yield frozenset()
        except (NatsError, TimeoutError) as error:
            _log.warning("cannot see which agents live", error=str(error))
        else:
            yield frozenset(unescape(key) for key in keys)
        await asyncio.sleep(LOOK)
