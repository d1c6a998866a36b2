"""Opens the log that a command reads, NATS or a file, and reads it up to a place."""

import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
import structlog

from dra_cli.core.position import Position
from dra_cli.exits import NoLogError, NotFoundError
from dra_shared.events.envelope import CorruptEventError
from dra_shared.log.file import FileLog
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import EventLog, LogUnavailableError, Record
from dra_shared.runtime.bus import connect

PATIENCE: Final = 3.0
"""Seconds to wait for a first connection to NATS."""

ANSWER_PATIENCE: Final = 10.0
"""Seconds to wait for an answer over it: a server that was started again reads its files first."""


class Source(msgspec.Struct, frozen=True):
    """Where the log is: a file if one is given, else NATS."""

    nats_url: str
    file: Path | None = None

    def __str__(self) -> str:
        """As errors name it, without the password."""
        return str(self.file) if self.file else self.nats_url.rpartition("@")[2]


@asynccontextmanager
async def opened(source: Source) -> AsyncIterator[EventLog]:
    """The log, closed at the end; raises NoLogError, also for what goes wrong while reading."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        log = await _open(source)
        try:
            yield log
        finally:
            await log.close()
    except (LogUnavailableError, CorruptEventError) as error:
        message = f"{error}\nAnother log: --nats URL (or NATS_URL), or --log FILE for a file."
        raise NoLogError(message) from error


async def records(log: EventLog, position: Position, *, after: int = 0) -> AsyncGenerator[Record]:
    """The records up to the place, in order; raises NotFoundError if the log ends before it."""
    last = await log.last_sequence()
    if position.sequence is not None and position.sequence > last:
        message = f"no sequence {position.sequence}: the log ends at {last}"
        raise NotFoundError(message)
    async with aclosing(log.read(after=after, until=position.sequence or last)) as batches:
        async for batch in batches:
            for record in batch:
                if not position.includes(record):
                    return
                yield record


async def _open(source: Source) -> EventLog:
    if source.file is not None:
        return FileLog(source.file, create=False)
    client = await connect(source.nats_url, "dra", patience=PATIENCE, writes=False)
    return JetStreamLog(client, patience=ANSWER_PATIENCE)
