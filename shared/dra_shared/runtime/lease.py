"""Who may try to write: a lease in a NATS key-value bucket. Liveness only, never safety.

Safety is the epoch in the log: two holders of a lease would do no harm, the log fences the older
one off. A key not renewed for its time to live is gone by itself.
"""

import asyncio
from typing import Final

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import api
from nats.js.errors import APIError, BucketNotFoundError, KeyNotFoundError
from nats.js.kv import KeyValue

BUCKET: Final = "dra-lease"
TTL: Final = 3.0
"""Seconds after which a silent holder has lost the lease."""

RENEWAL: Final = 0.75
RETRY: Final = 0.25

_log = structlog.get_logger()


class Lease:
    """One name that at most one process holds at a time, as far as liveness goes."""

    def __init__(self, client: Client, name: str, holder: str) -> None:
        self._client = client
        self._name = name
        self._holder = holder.encode()
        self._revision = 0

    async def acquire(self) -> None:
        """Waits until the lease is ours; at once if we held it before a restart."""
        while True:
            try:
                if await self._try(await bucket(self._client, BUCKET, TTL)):
                    return
            except (NatsError, TimeoutError) as error:
                _log.warning("cannot ask for the lease", lease=self._name, error=str(error))
            await asyncio.sleep(RETRY)

    async def keep(self) -> None:
        """Renews until the lease is lost, then returns; trouble on the way is tried again."""
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while loop.time() - renewed < TTL:
            try:
                store = await bucket(self._client, BUCKET, TTL)
                self._revision = await store.update(self._name, self._holder, self._revision)
                renewed = loop.time()
            except APIError as error:
                if not await self._still_ours():
                    _log.error("lease lost", lease=self._name, error=str(error))
                    return
            except (NatsError, TimeoutError) as error:
                _log.warning("cannot renew the lease", lease=self._name, error=str(error))
            await asyncio.sleep(RENEWAL)

    async def release(self) -> None:
        """Gives the lease back, so that a standby need not wait for its time to live.

        A last renewal may have arrived without us hearing of it: so it is asked for once more.
        """
        try:
            store = await bucket(self._client, BUCKET, TTL)
            if await self._try(store):
                await store.delete(self._name, last=self._revision)
        except (NatsError, TimeoutError) as error:
            _log.warning("cannot give the lease back", lease=self._name, error=str(error))

    async def _try(self, store: KeyValue) -> bool:
        try:
            entry = await store.get(self._name)
        except KeyNotFoundError:
            last = 0
        else:
            if entry.value != self._holder:
                return False
            last = entry.revision or 0
        try:
            self._revision = (
                await store.update(self._name, self._holder, last)
                if last
                else await store.create(self._name, self._holder)
            )
        except APIError:
            return False
        return True

    async def _still_ours(self) -> bool:
        """After a refused renewal: an earlier try may have arrived without us hearing of it."""
        try:
            return await self._try(await bucket(self._client, BUCKET, TTL))
        except (NatsError, TimeoutError):
            return True


async def bucket(client: Client, name: str, ttl: float) -> KeyValue:
    """The bucket, made if it is not there; its keys vanish `ttl` seconds after their last write."""
    context = client.jetstream(timeout=1)
    try:
        return await context.key_value(name)
    except BucketNotFoundError:
        config = api.KeyValueConfig(bucket=name, ttl=ttl, history=1, storage=api.StorageType.MEMORY)
        return await context.create_key_value(config)
