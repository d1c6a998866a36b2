"""A place in the log as people name it: a sequence, or a time."""

from datetime import UTC, datetime
from typing import Final

import msgspec

from dra_shared.log.protocol import Record

EXAMPLES: Final = "1234, 2026-11-30T15:04:05Z or 2026-11-30T16:04:05.250+01:00"


class BadPositionError(ValueError):
    """What was typed names no place in a log."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is neither a sequence nor a time; write it as {EXAMPLES}")


class Position(msgspec.Struct, frozen=True):
    """Up to a sequence, or up to a moment in nanoseconds since 1970; both inclusive."""

    sequence: int | None = None
    time_ns: int | None = None

    def includes(self, record: Record) -> bool:
        """Whether the record stands at or before this place."""
        if self.sequence is not None:
            return record.sequence <= self.sequence
        return self.time_ns is None or record.time_ns <= self.time_ns


THE_END: Final = Position()


def parse_position(text: str) -> Position:
    """The place that the text names; times without a zone are UTC. Raises BadPositionError."""
    if text.isdecimal():
        return Position(sequence=int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadPositionError(text) from error
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = zoned - datetime(1970, 1, 1, tzinfo=UTC)
    return Position(
        time_ns=(since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000
    )
