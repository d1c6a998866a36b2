"""The log in NATS JetStream: what production and `docker compose` run on."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from math import inf
from typing import Final

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import api
from nats.js.errors import APIError, NotFoundError

from dra_shared.events import subjects as places
from dra_shared.events.envelope import Envelope, encode
from dra_shared.events.subjects import EVERYTHING
from dra_shared.events.writers import EpochOpened
from dra_shared.log.jetstream_answers import BUSY, PASSING, WRONG_LAST_SEQUENCE
from dra_shared.log.jetstream_batch import BatchPublisher
from dra_shared.log.jetstream_publisher import Publisher
from dra_shared.log.jetstream_reader import Reader
from dra_shared.log.jetstream_trying import Trying
from dra_shared.log.protocol import Epoch, LogUnavailableError, Record

STREAM: Final = "DRA"
DEDUPLICATION: Final = 600
"""Seconds in which a repeated event id is recognised by the server."""

TAKEOVER_PAUSE: Final = 0.003


class JetStreamLog:
    """An EventLog in one stream. `replicas`: 1 in development, 3 in production.

    `patience`: seconds after which a server that does not answer makes the log unavailable.
    """

    def __init__(self, client: Client, *, replicas: int = 1, patience: float = inf) -> None:
        self._client = client
        self._context = client.jetstream(timeout=2)
        self._publisher = Publisher(client)
        self._groups = BatchPublisher(client)
        self._replicas = replicas
        self._patience = patience

    async def ensure_stream(self) -> None:
        """Makes the stream if it is not there; waits for a server that is not ready yet."""
        config = api.StreamConfig(
            name=STREAM,
            subjects=[f"{places.ROOT}.>"],
            storage=api.StorageType.FILE,
            num_replicas=self._replicas,
            discard=api.DiscardPolicy.NEW,
            duplicate_window=DEDUPLICATION,
            allow_direct=True,
            allow_atomic=True,
            deny_delete=True,
            metadata={"schema": "1"},
        )
        trying = Trying(self._client, self._patience)
        while True:
            try:
                self._replicas = (await self._context.stream_info(STREAM)).config.num_replicas or 1
            except NotFoundError:
                await self._add(config, trying)
            except (NatsError, TimeoutError) as error:
                await trying.pause(error)
            else:
                return

    async def commit(
        self, events: Sequence[Envelope], *, epoch: Epoch | None = None
    ) -> tuple[int, ...]:
        """See EventLog."""
        if epoch is not None and events and self._replicas > 1:
            return await self._groups.append(events, epoch)
        return await self._publisher.append(events, epoch)

    async def read(
        self, *, after: int = 0, until: int | None = None, subjects: tuple[str, ...] = EVERYTHING
    ) -> AsyncGenerator[Sequence[Record]]:
        """See EventLog."""
        if until is not None and after >= until:
            return
        complete = until is not None and await self.last_sequence() >= until
        async with aclosing(Reader(self._client, STREAM, subjects).batches(after)) as batches:
            async for batch in batches:
                if until is None:
                    yield batch
                    continue
                if wanted := [record for record in batch if record.sequence <= until]:
                    yield wanted
                if (batch and batch[-1].sequence >= until) or (complete and not batch):
                    return
                complete = complete or await self.last_sequence() >= until

    async def open_epoch(self, writer: str, holder: str) -> Epoch:
        """See EventLog."""
        subject = places.epoch(writer)
        trying = Trying(self._client, self._patience)
        while True:
            try:
                last = await self._last_on(subject)
                event = Envelope(
                    id=f"epoch:{writer}:{last}:{holder}",
                    actor=holder,
                    fact=EpochOpened(writer=writer, holder=holder),
                )
                ack = await self._context.publish(
                    subject,
                    encode(event),
                    headers={
                        "Nats-Msg-Id": event.id,
                        "Nats-Expected-Last-Subject-Sequence": str(last),
                    },
                )
            except APIError as error:
                if error.err_code not in (WRONG_LAST_SEQUENCE, BUSY) and error.code not in PASSING:
                    message = f"cannot take over as {writer}: {error.description}"
                    raise LogUnavailableError(message) from error
                await asyncio.sleep(TAKEOVER_PAUSE)
            except (NatsError, TimeoutError) as error:
                await trying.pause(error)
            else:
                return Epoch(writer, ack.seq)

    async def last_sequence(self) -> int:
        """See EventLog."""
        return (await self._stream()).state.last_seq

    async def identity(self) -> str:
        """What tells this stream from all others, also from one made anew under its name."""
        created = (await self._stream()).created
        return f"{STREAM}@{created and created.isoformat()}"

    async def _stream(self) -> api.StreamInfo:
        trying = Trying(self._client, self._patience)
        while True:
            try:
                return await self._context.stream_info(STREAM)
            except NotFoundError as error:
                message = f"there is no log: NATS has no stream {STREAM}; start the services first"
                raise LogUnavailableError(message) from error
            except (NatsError, TimeoutError) as error:
                await trying.pause(error)

    async def close(self) -> None:
        """See EventLog; closes the connection too."""
        await self._client.close()

    async def _add(self, config: api.StreamConfig, trying: Trying) -> None:
        try:
            await self._context.add_stream(config)
        except (NatsError, TimeoutError) as error:
            await trying.pause(error)

    async def _last_on(self, subject: str) -> int:
        try:
            return (await self._context.get_last_msg(STREAM, subject)).seq or 0
        except NotFoundError:
            return 0
