"""Reads a JetStream stream in order, without gaps, and goes on where it was after any trouble.

Bounded pulls on a throw-away consumer; every message's consumer sequence must follow the one
before, else the consumer is made anew behind the last event that was handed out. (nats-py's
ordered consumer loses events silently under load; its `fetch` reaches 3% of the server's rate.)
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.js import JetStreamContext, api

from dra_shared.events.envelope import decode_or_park
from dra_shared.log.jetstream_parser import Message, subscribe, unsubscribe
from dra_shared.log.protocol import LogUnavailableError, Record

BATCH: Final = 12_000
MAX_BYTES: Final = 16 << 20
"""Asked for in one pull; the server drops a connection that is owed too much at once."""

HEARTBEAT: Final = 2.0
SILENCE: Final = 5.0
"""Seconds: a server that is quiet for longer has lost our pull."""

RETRY_PAUSE: Final = 0.1
_LOOK: Final = 0.25
_DOTS_OF_A_KIND: Final = 2

_UNDELIVERED: Final = re.compile(rb"Nats-Pending-Messages: (\d+)")
_ENCODER: Final = msgspec.json.Encoder()
_NUMBERS: Final = msgspec.json.Decoder(list[int])
_BEFORE_NUMBERS: Final = (5, 7)
_SHORT_REPLY: Final = 9
"""Tokens of a reply before its numbers, without the server's domain and account and with them."""


class _Lost(Exception):  # noqa: N818 - not an error of anybody, a reason to begin anew
    """The consumer cannot be trusted any more."""


class Pull:
    """One throw-away consumer: what arrived, and whether it arrived whole.

    `wanted`: matches the subjects that somebody asked for; None means all that come.
    """

    def __init__(
        self,
        client: Client,
        stream: str,
        name: str,
        pending: int,
        wanted: re.Pattern[bytes] | None = None,
    ) -> None:
        self._client = client
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}"
        self._inbox = client.new_inbox()
        self._reconnects = client.stats["reconnects"]
        self._arrived: list[Record] = []
        self._wake = asyncio.Event()
        self._expected = 1
        self._owed = 0
        self._lost = ""
        self._told = False
        self._subscription: Subscription | None = None
        self._wanted = wanted
        self.pending = pending
        self.name = name

    async def start(self) -> None:
        """Begins to listen."""
        self._subscription = await subscribe(self._client, self._inbox, self._arrive)

    async def stop(self) -> None:
        """Ends listening."""
        if self._subscription is not None:
            await unsubscribe(self._client, self._subscription)

    async def next(self) -> Sequence[Record]:
        """What arrived next; empty once whenever nothing is left to arrive. Raises _Lost."""
        while True:
            await self._ask()
            if self._is_at_end and not self._told:
                break
            await self._wait()
            if self._arrived or self._lost or not self.pending:
                break
        batch, self._arrived = self._arrived, []
        if self._lost and not batch:
            raise _Lost(self._lost)
        self._told = not batch
        return batch or ()

    @property
    def _is_at_end(self) -> bool:
        return self.pending == 0 and not self._arrived

    async def _ask(self) -> None:
        if self._owed > BATCH // 2:
            return
        self._owed = max(0, self._owed) + BATCH
        request = {
            "batch": BATCH,
            "max_bytes": MAX_BYTES,
            "expires": 10_000_000_000,
            "idle_heartbeat": int(HEARTBEAT * 1e9),
        }
        await self._client.publish(self._next, _ENCODER.encode(request), reply=self._inbox)

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        quiet_since = loop.time()
        while not self._arrived and not self._lost and self._owed > 0:
            if self._is_at_end and not self._told:
                return
            self._wake.clear()
            try:
                async with asyncio.timeout(_LOOK):
                    await self._wake.wait()
                quiet_since = loop.time()
            except TimeoutError:
                self._check(loop.time() - quiet_since)

    def _check(self, quiet: float) -> None:
        if self._client.is_closed:
            message = "the connection to NATS was closed for good"
            raise LogUnavailableError(message)
        if self._client.stats["reconnects"] != self._reconnects or not self._client.is_connected:
            self._lost = "reconnected"
        elif quiet > SILENCE:
            self._lost = "silent"

    def _arrive(self, came: Sequence[Message]) -> None:
        self._wake.set()
        events = [message for message in came if message[1]]
        number = iter(numbers_of([reply for _, reply, _, _ in events]))
        for (subject, _, _, data), sequence, order, time_ns, pending in zip(
            events, number, number, number, number, strict=True
        ):
            if order != self._expected or self._lost:
                self._lost = self._lost or "gap"
                return
            self._expected += 1
            self._owed -= 1
            self.pending = pending
            if self._wanted is None or self._wanted.fullmatch(subject):
                event = decode_or_park(data, "sequence ", sequence, " of the log")
                self._arrived.append(Record(sequence, time_ns, subject.decode(), event))
        for _, reply, header, _ in came:
            if not reply:
                self._note(header)

    def _note(self, header: bytes) -> None:
        """A status instead of an event: a heartbeat, or a pull that ended with so much undelivered."""
        if header[9:12] == b"100":
            return
        undelivered = _UNDELIVERED.search(header)
        self._owed -= int(undelivered[1]) if undelivered else self._owed
        if b"Consumer Deleted" in header:
            self._lost = "the server forgot the consumer"


class Reader:
    """Reads the stream for one caller; survives reconnects, restarts and lost consumers."""

    def __init__(self, client: Client, stream: str, subjects: tuple[str, ...]) -> None:
        self._client = client
        self._context: JetStreamContext = client.jetstream(timeout=2)
        self._stream = stream
        self._subjects = subjects
        self.resets = 0

    async def batches(self, after: int) -> AsyncGenerator[Sequence[Record]]:
        """All events behind a sequence, for ever; an empty batch each time the end is reached."""
        pull: Pull | None = None
        try:
            while True:
                try:
                    pull = pull or await self._resume(after)
                    batch = await pull.next()
                except (_Lost, NatsError, TimeoutError) as error:
                    await self._recover(pull, error)
                    pull = None
                    continue
                after = batch[-1].sequence if batch else after
                yield batch
        finally:
            await self._forget(pull)

    async def _recover(self, pull: Pull | None, error: Exception) -> None:
        if self._client.is_closed:
            message = f"the connection to NATS was closed for good: {error}"
            raise LogUnavailableError(message) from error
        self.resets += 1
        await self._forget(pull)
        await asyncio.sleep(RETRY_PAUSE)

    async def _forget(self, pull: Pull | None) -> None:
        """Ends a pull and its consumer; a server that cannot be asked forgets it by itself."""
        if pull is None or self._client.is_closed:
            return
        with suppress(NatsError, TimeoutError):
            await pull.stop()
            await self._context.delete_consumer(self._stream, pull.name)

    async def _resume(self, after: int) -> Pull:
        """A consumer behind a sequence.

        NATS counts what is to come for each of several filters by a walk over all subjects there
        are, 0.1 s for 250,000 of them. Behind some place in the log it is cheaper to let everything
        come and to leave out here what nobody asked for.
        """
        everything = after > 0 and len(self._subjects) > 1 and all(map(_is_broad, self._subjects))
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=after + 1,
            ack_policy=api.AckPolicy.NONE,
            mem_storage=True,
            num_replicas=1,
            inactive_threshold=30,
            filter_subjects=None if everything else list(self._subjects),
        )
        info = await self._context.add_consumer(self._stream, config)
        wanted = _pattern(self._subjects) if everything else None
        pull = Pull(self._client, self._stream, info.name, info.num_pending or 0, wanted)
        await pull.start()
        return pull


def numbers_of(replies: Sequence[bytes]) -> list[int]:
    """What the replies of messages say, four numbers each, one after the other.

    These are: sequence, the consumer's sequence, nanoseconds, how many are to come. Replies that
    differ in nothing else are read as one list, several times as fast as one number after the other.
    """
    alike = b"".join(replies[:1]).rsplit(b".", 4)[0] + b"."
    digits = b",".join(replies).replace(alike, b"").replace(b".", b",")
    with suppress(msgspec.DecodeError):
        numbers = _NUMBERS.decode(b"[%b]" % digits)
        if alike.count(b".") in _BEFORE_NUMBERS:
            return numbers
    return [int(token) for reply in replies for token in _number_tokens(reply)]


def _number_tokens(reply: bytes) -> list[bytes]:
    """A server may name its domain and account before, and something of its own behind."""
    tokens = reply.split(b".")
    start = _BEFORE_NUMBERS[len(tokens) != _SHORT_REPLY]
    return tokens[start : start + 4]


def _is_broad(subject: str) -> bool:
    """Whether it stands for a whole kind of facts, not for those about one node."""
    return subject.count(".") <= _DOTS_OF_A_KIND


def _pattern(subjects: Iterable[str]) -> re.Pattern[bytes]:
    wild = {r"\*": r"[^.]+", ">": r".+"}
    tokens = ([re.escape(token) for token in subject.split(".")] for subject in subjects)
    each = (r"\.".join(wild.get(token, token) for token in one) for one in tokens)
    return re.compile("|".join(each).encode())
