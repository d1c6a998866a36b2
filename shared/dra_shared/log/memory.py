"""A log in memory: real code for tests, what-if runs and replays, gone with its process."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final

from dra_shared.events.envelope import Envelope
from dra_shared.events.subjects import EVERYTHING, subject
from dra_shared.events.writers import EpochOpened
from dra_shared.log.journal import Journal
from dra_shared.log.protocol import Epoch, FencedError, Record

BATCH: Final = 1000


class MemoryLog:
    """An EventLog that lives as long as the object. `clock` gives nanoseconds since 1970."""

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._journal = Journal()
        self._clock = clock
        self._grown = asyncio.Event()

    async def commit(
        self, events: Sequence[Envelope], *, epoch: Epoch | None = None
    ) -> tuple[int, ...]:
        """See EventLog."""
        if epoch is not None and not self._journal.is_current(epoch):
            raise FencedError(epoch)
        return tuple([self._append(event) for event in events])

    async def read(
        self, *, after: int = 0, until: int | None = None, subjects: tuple[str, ...] = EVERYTHING
    ) -> AsyncGenerator[Sequence[Record]]:
        """See EventLog."""
        while True:
            grown = self._grown
            while after < min(self._journal.last, until or self._journal.last):
                batch, after = self._journal.slice(after, BATCH, until, subjects)
                if batch:
                    yield batch
            if until is not None and after >= until:
                return
            yield ()
            if self._journal.last == after:
                await grown.wait()

    async def open_epoch(self, writer: str, holder: str) -> Epoch:
        """See EventLog."""
        fact = EpochOpened(writer=writer, holder=holder)
        identity = f"epoch:{writer}:{self._journal.last + 1}"
        return Epoch(writer, self._append(Envelope(id=identity, actor=holder, fact=fact)))

    async def last_sequence(self) -> int:
        """See EventLog."""
        return self._journal.last

    async def close(self) -> None:
        """See EventLog."""

    def _append(self, event: Envelope) -> int:
        known = self._journal.sequence_of(event.id)
        if known is not None:
            return known
        sequence = self._journal.last + 1
        self._journal.add(Record(sequence, self._clock(), subject(event.fact), event))
        self._grown.set()
        self._grown = asyncio.Event()
        return sequence
