"""The parts of moments and durations."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kube_cel.declarations import Function, Overload
from kube_cel.errors import EvaluationError
from kube_cel.library.declare import method
from kube_cel.types import DURATION, INT, STRING, TIMESTAMP
from kube_cel.values.time import SECOND, Duration, Timestamp

_MILLISECOND: Final = 1_000_000
_MICROSECONDS: Final = 1_000
_DAYS: Final = 7


def _zone(name: str) -> tzinfo | timedelta:
    """A named zone, or a fixed distance from UTC."""
    hours, colon, minutes = name.partition(":")
    if colon:
        try:
            span = timedelta(hours=int(hours), minutes=int(minutes))
        except ValueError:
            raise EvaluationError(f"unknown time zone {name}") from None
        if name[0] == "-":
            span = timedelta(hours=int(hours), minutes=-int(minutes))
        return span
    if name in ("", "UTC", "Local"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _local(moment: Timestamp, name: str) -> datetime:
    zone = _zone(name)
    try:
        if isinstance(zone, timedelta):
            return moment.moment() + zone
        return moment.moment().astimezone(zone)
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


_OF_MOMENTS: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda t: t.year,
    "getMonth": lambda t: t.month - 1,
    "getDayOfYear": lambda t: t.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda t: t.day - 1,
    "getDate": lambda t: t.day,
    "getDayOfWeek": lambda t: t.isoweekday() % _DAYS,
    "getHours": lambda t: t.hour,
    "getMinutes": lambda t: t.minute,
    "getSeconds": lambda t: t.second,
    "getMilliseconds": lambda t: t.microsecond // _MICROSECONDS,
}
_OF_DURATIONS: Final = {
    "getHours": 3_600 * SECOND,
    "getMinutes": 60 * SECOND,
    "getSeconds": SECOND,
    "getMilliseconds": _MILLISECOND,
}


def _whole(unit: int) -> Callable[[Duration], int]:
    """How many whole units, rounded towards zero."""

    def call(span: Duration) -> int:
        count = abs(span.nanos) // unit
        return -count if span.nanos < 0 else count

    return call


def _getter(name: str, part: Callable[[datetime], int]) -> Function:
    overloads: list[Overload] = [
        method(f"timestamp_{name}", (TIMESTAMP,), INT, lambda t: part(t.moment())),
        method(
            f"timestamp_{name}_with_tz",
            (TIMESTAMP, STRING),
            INT,
            lambda t, zone: part(_local(t, zone)),
        ),
    ]
    if name in _OF_DURATIONS:
        call = _whole(_OF_DURATIONS[name])
        overloads.append(method(f"duration_{name}", (DURATION,), INT, call))
    return Function(name, tuple(overloads))


LIBRARY: Final = tuple(_getter(name, part) for name, part in _OF_MOMENTS.items())

__all__ = ["LIBRARY", "timezone"]
