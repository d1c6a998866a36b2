"""A log in one file of JSON lines: for laptops, bug reports and replays without a server.

Several processes may share the file: each append takes a lock, reads what others wrote, and is
on disk (fsync) before it counts. A last line without its newline was never acknowledged and is
cut off by the next writer.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dra_shared.events.envelope import CorruptEventError, Envelope
from dra_shared.events.subjects import EVERYTHING, subject
from dra_shared.events.writers import EpochOpened
from dra_shared.log.journal import Journal
from dra_shared.log.lines import BEGIN, json_line, record_of
from dra_shared.log.protocol import Epoch, FencedError, LogUnavailableError, Record

BATCH: Final = 1000
LOOK_AGAIN: Final = 0.05
"""Seconds between looks for what other processes wrote."""


class FileLog:
    """An EventLog in a file, which is made if it is not there (not with `create=False`).

    Raises LogUnavailableError for a file that cannot be opened, CorruptEventError for a damaged one.
    """

    def __init__(
        self, path: Path, clock: Callable[[], int] = time.time_ns, *, create: bool = True
    ) -> None:
        flags = os.O_RDWR | os.O_CREAT if create else os.O_RDONLY
        try:
            self._fd = os.open(path, flags, 0o644)
        except OSError as error:
            message = f"cannot open the log file {path}: {error.strerror}"
            raise LogUnavailableError(message) from error
        self._path = path
        self._clock = clock
        self._journal = Journal()
        self._offset = 0
        try:
            self._refresh()
        except CorruptEventError:
            os.close(self._fd)
            raise

    async def commit(
        self, events: Sequence[Envelope], *, epoch: Epoch | None = None
    ) -> tuple[int, ...]:
        """See EventLog."""
        with self._locked():
            if epoch is not None and not self._journal.is_current(epoch):
                raise FencedError(epoch)
            return tuple(self._append(events))

    async def read(
        self, *, after: int = 0, until: int | None = None, subjects: tuple[str, ...] = EVERYTHING
    ) -> AsyncGenerator[Sequence[Record]]:
        """See EventLog."""
        told = -1
        while True:
            self._refresh()
            while after < min(self._journal.last, until or self._journal.last):
                batch, after = self._journal.slice(after, BATCH, until, subjects)
                if batch:
                    yield batch
            if until is not None and after >= until:
                return
            if told != after:
                told = after
                yield ()
            await asyncio.sleep(LOOK_AGAIN)

    async def open_epoch(self, writer: str, holder: str) -> Epoch:
        """See EventLog."""
        fact = EpochOpened(writer=writer, holder=holder)
        with self._locked():
            identity = f"epoch:{writer}:{self._journal.last + 1}"
            event = Envelope(id=identity, actor=holder, fact=fact)
            return Epoch(writer, self._append((event,))[0])

    async def last_sequence(self) -> int:
        """See EventLog."""
        self._refresh()
        return self._journal.last

    async def close(self) -> None:
        """See EventLog."""
        os.close(self._fd)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            self._refresh()
            os.ftruncate(self._fd, self._offset)
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _append(self, events: Sequence[Envelope]) -> list[int]:
        sequences: list[int] = []
        fresh: list[Record] = []
        known: dict[str, int] = {}
        for event in events:
            sequence = known.get(event.id) or self._journal.sequence_of(event.id)
            if sequence is None:
                sequence = self._journal.last + len(fresh) + 1
                record = Record(sequence, self._clock(), subject(event.fact), event)
                fresh.append(record)
            known[event.id] = sequence
            sequences.append(sequence)
        self._write(b"".join(json_line(record) + b"\n" for record in fresh))
        for record in fresh:
            self._journal.add(record)
        return sequences

    def _write(self, data: bytes) -> None:
        try:
            written = os.pwrite(self._fd, data, self._offset)
            os.fsync(self._fd)
        except OSError as error:
            message = f"cannot append to the log file {self._path}: {error.strerror}"
            raise LogUnavailableError(message) from error
        if written != len(data):
            message = f"the log file {self._path} took only part of an append: is the disk full?"
            raise LogUnavailableError(message)
        self._offset += written

    def _refresh(self) -> None:
        size = os.fstat(self._fd).st_size
        if size <= self._offset:
            return
        data = os.pread(self._fd, size - self._offset, self._offset)
        if not self._offset and not data.startswith(BEGIN[: len(data)]):
            raise CorruptEventError(f"line 1 of {self._path}", "it is no line of a log")
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.splitlines():
            sequence = self._journal.last + 1
            self._journal.add(record_of(line, sequence, f"line {sequence} of {self._path}"))
        self._offset += len(whole)
