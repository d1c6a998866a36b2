"""Appends a group of events to a replicated stream as one atomic batch (NATS ADR-50).

A replicated stream takes only one write at a time under the same fence, so a writer's group goes
as one batch whose first message carries the fence: all of it is stored, or nothing. nats-py has
no call for it; the protocol is three headers and two requests.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from nats.aio.client import Client
from nats.errors import Error as NatsError

from dra_shared.events import subjects
from dra_shared.events.envelope import Envelope
from dra_shared.ids import digest
from dra_shared.log.jetstream_answers import (
    BUSY_PAUSE,
    DUPLICATE_IN_BATCH,
    RETRY_PAUSE,
    Ack,
    decode_ack,
    fence,
    sequence_of,
)
from dra_shared.log.jetstream_publisher import encoded
from dra_shared.log.protocol import Epoch, LogUnavailableError

LARGEST: Final = 500
"""Events in one batch; the server takes 1,000."""

ANSWER_SECONDS: Final = 5.0


class BatchPublisher:
    """Appends groups of fenced events, one group at a time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._turn = asyncio.Lock()
        self._tries = 0

    async def append(self, events: Sequence[Envelope], epoch: Epoch) -> tuple[int, ...]:
        """See EventLog.commit."""
        sequences: list[int] = []
        async with self._turn:
            for start in range(0, len(events), LARGEST):
                sequences += await self._append_group(events[start : start + LARGEST], epoch)
        return tuple(sequences)

    async def _append_group(self, events: Sequence[Envelope], epoch: Epoch) -> list[int]:
        """The whole group at once; one by one if some of it is in the log already."""
        while True:
            ack = await self._send(events, epoch)
            if ack is not None and _is_duplicate(ack):
                return [await self._append_one(event, epoch) for event in events]
            last = sequence_of(ack, epoch)
            if last:
                return list(range(last - len(events) + 1, last + 1))
            await asyncio.sleep(RETRY_PAUSE if ack is None else BUSY_PAUSE)

    async def _append_one(self, event: Envelope, epoch: Epoch) -> int:
        headers = {"Nats-Msg-Id": event.id, **fence(epoch)}
        while True:
            ack = await self._request(event, headers)
            sequence = sequence_of(ack, epoch)
            if sequence:
                return sequence
            await asyncio.sleep(RETRY_PAUSE if ack is None else BUSY_PAUSE)

    async def _send(self, events: Sequence[Envelope], epoch: Epoch) -> Ack | None:
        """One try: the answer to the commit, or to what went wrong before; None if unknown."""
        self._tries += 1
        batch = digest(events[0].id, str(epoch.sequence), str(self._tries), str(len(events)))
        for number, event in enumerate(events, start=1):
            headers = {
                "Nats-Msg-Id": event.id,
                "Nats-Batch-Id": batch,
                "Nats-Batch-Sequence": str(number),
            }
            if number == 1:
                headers |= fence(epoch)
            if number == len(events):
                return await self._request(event, headers | {"Nats-Batch-Commit": "1"})
            if number > 1:
                await self._client.publish(
                    subjects.subject(event.fact), encoded(event, self._client), headers=headers
                )
                continue
            opened = await self._request(event, headers)
            if opened is None or opened.error is not None:
                return opened
        return None

    async def _request(self, event: Envelope, headers: dict[str, str]) -> Ack | None:
        subject, data = subjects.subject(event.fact), encoded(event, self._client)
        try:
            answer = await self._client.request(
                subject, data, timeout=ANSWER_SECONDS, headers=headers
            )
        except (NatsError, TimeoutError) as error:
            if self._client.is_closed:
                message = f"the connection to NATS was closed for good: {error}"
                raise LogUnavailableError(message) from error
            return None
        return decode_ack(answer.data) if answer.data else Ack()


def _is_duplicate(ack: Ack) -> bool:
    return ack.error is not None and ack.error.err_code == DUPLICATE_IN_BATCH
