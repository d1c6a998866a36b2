"""Durations and moments, both counted in nanoseconds, read and written as Go does."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from kube_cel.errors import EvaluationError
from kube_cel.values.numbers import INT_MAX, INT_MIN
from kube_cel.values.text import plain, shortest_digits

SECOND: Final = 1_000_000_000
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3_600 * SECOND,
}
_DURATION_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))\Z"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = -62_135_596_800
_LAST: Final = 253_402_300_799
MOMENTS: Final = range(_FIRST * SECOND, (_LAST + 1) * SECOND)
"""All moments, in nanoseconds since 1970."""


class Duration:
    """A span of time, at most some 292 years either way."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        if not INT_MIN <= nanos <= INT_MAX:
            raise EvaluationError("integer overflow")
        self.nanos = nanos


class Timestamp:
    """A moment between the years 1 and 9999; ``offset`` is its zone's, in seconds."""

    __slots__ = ("nanos", "offset")

    def __init__(self, nanos: int, offset: int = 0) -> None:
        if nanos not in MOMENTS:
            raise EvaluationError("timestamp overflow")
        self.nanos = nanos
        self.offset = offset

    def moment(self) -> datetime:
        """The moment to the microsecond, in UTC."""
        return _EPOCH + timedelta(
            seconds=self.nanos // SECOND, microseconds=self.nanos % SECOND // 1_000
        )


def parse_duration(text: str) -> Duration:
    """The span that the text says, such as ``1h30m``."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return Duration(0)
    total, position = 0, 0
    while position < len(body):
        part = _DURATION_PART.match(body, position)
        if part is None or not (part[1] or part[2]):
            break
        unit = _UNITS[part[3]]
        fraction = part[2] or ""
        total += int(part[1] or "0") * unit
        total += int(fraction or "0") * unit // 10 ** len(fraction)
        position = part.end()
    if not body or position < len(body):
        raise EvaluationError(f"invalid duration {text!r}")
    return Duration(-total if text[0] == "-" else total)


def parse_timestamp(text: str) -> Timestamp:
    """The moment that an RFC 3339 text says."""
    found = _TIMESTAMP.match(text)
    if found is None:
        raise EvaluationError(f"invalid timestamp {text!r}")
    year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as fault:
        raise EvaluationError(f"invalid timestamp {text!r}: {fault}") from None
    fraction = int((found[7] or "0")[:9].ljust(9, "0"))
    offset = _zone_seconds(found, text)
    return Timestamp((_seconds(moment) - offset) * SECOND + fraction, offset)


def _zone_seconds(found: re.Match[str], text: str) -> int:
    if not found[8]:
        return 0
    hours, minutes = int(found[9]), int(found[10])
    if hours > 24 or minutes > 60:  # noqa: PLR2004 - what Go takes
        raise EvaluationError(f"invalid timestamp {text!r}")
    seconds = hours * 3_600 + minutes * 60
    return -seconds if found[8] == "-" else seconds


def _seconds(moment: datetime) -> int:
    span = moment - _EPOCH
    return span.days * 86_400 + span.seconds


def timestamp_text(value: Timestamp) -> str:
    """RFC 3339 in the zone it was read in, with as many decimals as there are."""
    fraction = f"{value.nanos % SECOND:09d}".rstrip("0")
    local = value.moment() + timedelta(seconds=value.offset)
    stem = local.replace(microsecond=0, tzinfo=None).isoformat()
    return f"{stem}.{fraction}{_zone(value.offset)}" if fraction else stem + _zone(value.offset)


def _zone(offset: int) -> str:
    if offset == 0:
        return "Z"
    hours, minutes = divmod(abs(offset) // 60, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"


def duration_text(value: Duration) -> str:
    """Seconds, as a double would say them."""
    sign = "-" if value.nanos < 0 else ""
    whole, rest = divmod(abs(value.nanos), SECOND)
    return f"{sign}{plain(*shortest_digits(whole + rest / SECOND))}s"
