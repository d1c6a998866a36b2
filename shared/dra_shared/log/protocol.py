"""What a log promises, and the words for it. No implementation.

Appending the fact is the write: nothing is stored before, or instead of, its event.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

import msgspec

from dra_shared.events.envelope import Envelope
from dra_shared.events.subjects import EVERYTHING


class Record(msgspec.Struct, frozen=True, gc=False):
    """One event at its place: sequence from 1 on, the server's time in nanoseconds since 1970."""

    sequence: int
    time_ns: int
    subject: str
    envelope: Envelope


class Epoch(msgspec.Struct, frozen=True):
    """The right to write as `writer`; `sequence` is the fencing token."""

    writer: str
    sequence: int


class LogError(Exception):
    """The log could not do what was asked."""


class FencedError(LogError):
    """A newer writer has taken over: this one must stop and start again as a standby."""

    def __init__(self, epoch: Epoch) -> None:
        super().__init__(
            f"{epoch.writer} epoch {epoch.sequence} is over: another instance writes now"
        )
        self.epoch = epoch


class LogUnavailableError(LogError):
    """The log cannot be reached or refuses to store; the operator must look at it."""


class EventTooLargeError(LogError):
    """An event is larger than the log takes; its writer should have made it smaller."""

    def __init__(self, identity: str, size: int, limit: int) -> None:
        super().__init__(
            f"event {identity} has {size} bytes with its headers; NATS takes {limit} (max_payload)"
        )
        self.identity = identity


class EventLog(Protocol):
    """An ordered, durable, fenced list of events."""

    async def commit(
        self, events: Sequence[Envelope], *, epoch: Epoch | None = None
    ) -> tuple[int, ...]:
        """Appends the events in order and returns their sequences once they are durable.

        An event whose id is in the log already is not appended again; its old sequence is
        returned. With an epoch, nothing is appended once a newer epoch was opened: raises
        FencedError. What cannot be known (a timeout) is tried again with the same ids until
        it is; raises LogUnavailableError only for what trying again cannot mend, and
        EventTooLargeError for an event that it can never take.
        """
        ...

    def read(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        subjects: tuple[str, ...] = EVERYTHING,
    ) -> AsyncGenerator[Sequence[Record]]:
        """All events after a sequence, in order, without gaps, in batches as they come.

        Ends after `until` (inclusive) when it is given, whether or not that event is on one of
        the subjects; otherwise follows the log for ever and yields an empty batch each time it
        has caught up with the end. `subjects` may end in `>` and contain `*`.
        """
        ...

    async def open_epoch(self, writer: str, holder: str) -> Epoch:
        """Takes over as the only writer; every older epoch of `writer` is over from then on."""
        ...

    async def last_sequence(self) -> int:
        """The sequence of the newest event; 0 for an empty log."""
        ...

    async def close(self) -> None:
        """Lets go of connections and files. What was committed stays."""
        ...
