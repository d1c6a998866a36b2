"""Appends to a JetStream stream: many in flight, each acknowledged, repeated until it is known.

A timeout means unknown, never failed: the same message id is sent again until the server says
where the event stands. What went out together is repeated in the same order.
"""

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

from nats.aio.client import Client
from nats.errors import Error as NatsError

from dra_shared.events import subjects
from dra_shared.events.envelope import Envelope, encode
from dra_shared.log.jetstream_answers import (
    NO_RESPONDERS,
    RETRY_PAUSE,
    Ack,
    decode_ack,
    fence,
    pause_after,
    sequence_of,
)
from dra_shared.log.jetstream_parser import Message, subscribe
from dra_shared.log.protocol import Epoch, EventTooLargeError, LogUnavailableError

WINDOW: Final = 1024
"""Events in flight at most."""

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 5.0
"""Seconds to wait for acknowledgements before sending again; doubles up to the longest."""

LOOK: Final = 0.1

MOST_OF_HEADERS: Final = 1024
"""Bytes that are kept free for the headers, which count against the server's max_payload."""


class Publisher:
    """Appends events over one connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inbox = client.new_inbox()
        self._waiting: dict[bytes, asyncio.Future[Ack]] = {}
        self._tokens = 0
        self._subscribed = False

    async def append(self, events: Sequence[Envelope], epoch: Epoch | None) -> tuple[int, ...]:
        """See EventLog.commit. On a stream of one replica: all in flight at once."""
        sequences: list[int] = []
        for start in range(0, len(events), WINDOW):
            sequences += await self._append_window(events[start : start + WINDOW], epoch)
        return tuple(sequences)

    async def _append_window(self, events: Sequence[Envelope], epoch: Epoch | None) -> list[int]:
        sequences = [0] * len(events)
        wait = FIRST_WAIT
        while unknown := [i for i, sequence in enumerate(sequences) if not sequence]:
            acks = await self._send([events[i] for i in unknown], epoch, wait)
            for i, ack in zip(unknown, acks, strict=True):
                sequences[i] = sequence_of(ack, epoch)
            await asyncio.sleep(pause_after(acks))
            wait = min(2 * wait, LONGEST_WAIT)
        return sequences

    async def _send(
        self, events: Sequence[Envelope], epoch: Epoch | None, wait: float
    ) -> list[Ack | None]:
        """One try: an acknowledgement per event, None where none came in time."""
        tokens: list[bytes] = []
        try:
            await self._listen()
            for event in events:
                tokens.append(await self._publish(event, epoch))  # noqa: PERF401 - kept on failure
            await self._acknowledged([self._waiting[token] for token in tokens], wait)
        except NatsError as error:
            if self._client.is_closed:
                message = f"the connection to NATS was closed for good: {error}"
                raise LogUnavailableError(message) from error
            await asyncio.sleep(RETRY_PAUSE)
        finally:
            futures = [self._waiting.pop(token) for token in tokens]
        acks = [f.result() if f.done() and not f.cancelled() else None for f in futures]
        return acks + [None] * (len(events) - len(acks))

    async def _acknowledged(self, futures: Sequence[asyncio.Future[Ack]], wait: float) -> None:
        """Waits for all answers, but not over a reconnection: what was in flight then is lost."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        connection = self._client.stats["reconnects"]
        pending: Collection[asyncio.Future[Ack]] = futures
        while pending and loop.time() < deadline:
            _, pending = await asyncio.wait(pending, timeout=LOOK)
            if self._client.stats["reconnects"] != connection:
                return

    async def _listen(self) -> None:
        if not self._subscribed:
            await subscribe(self._client, f"{self._inbox}.*", self._acknowledge)
            self._subscribed = True

    async def _publish(self, event: Envelope, epoch: Epoch | None) -> bytes:
        self._tokens += 1
        reply = f"{self._inbox}.{self._tokens}"
        token = reply.encode()
        self._waiting[token] = asyncio.get_running_loop().create_future()
        headers = {"Nats-Msg-Id": event.id, **(fence(epoch) if epoch is not None else {})}
        subject = subjects.subject(event.fact)
        data = encoded(event, self._client)
        await self._client.publish(subject, data, reply=reply, headers=headers)
        return token

    def _acknowledge(self, came: Sequence[Message]) -> None:
        for subject, _, header, data in came:
            future = self._waiting.get(subject)
            if future is not None and not future.done():
                future.set_result(NO_RESPONDERS if header[9:12] == b"503" else decode_ack(data))


def encoded(event: Envelope, client: Client) -> bytes:
    """The event as JSON; raises EventTooLargeError if the server would never take it."""
    data = encode(event)
    size = len(data) + MOST_OF_HEADERS
    if size > client.max_payload:
        raise EventTooLargeError(event.id, size, client.max_payload)
    return data
