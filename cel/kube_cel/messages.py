"""
The few messages that an expression may write out: wrappers, spans of time, JSON.

None of them is a value of its own: each becomes the plain value it stands for.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from kube_cel.errors import EvaluationError
from kube_cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST_DYN,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    map_of,
)
from kube_cel.values.numbers import UINT_MAX, Uint
from kube_cel.values.time import SECOND, Duration, Timestamp

_INT32: Final = range(-(2**31), 2**31)
_UINT32: Final = range(2**32)


class Message(msgspec.Struct, frozen=True, eq=False):
    """The fields that may be set, and the value that the set fields make."""

    fields: Mapping[str, Type]
    result: Type
    make: Callable[[Mapping[str, Any]], object]


def _wrapper(kind: Type, empty: object, allowed: range | None = None) -> Message:
    def make(fields: Mapping[str, Any]) -> object:
        value = fields.get("value", empty)
        if allowed is not None and value not in allowed:
            raise EvaluationError("integer overflow")
        return value

    return Message({"value": kind}, kind, make)


def _nanos(fields: Mapping[str, Any]) -> int:
    return int(fields.get("seconds", 0)) * SECOND + int(fields.get("nanos", 0))


_SPAN: Final = {"seconds": INT, "nanos": INT}
_JSON: Final = map_of(STRING, DYN)

MESSAGES: Final = {
    f"google.protobuf.{name}": message
    for name, message in {
        "BoolValue": _wrapper(BOOL, empty=False),
        "BytesValue": _wrapper(BYTES, b""),
        "DoubleValue": _wrapper(DOUBLE, 0.0),
        "FloatValue": _wrapper(DOUBLE, 0.0),
        "Int32Value": _wrapper(INT, 0, _INT32),
        "Int64Value": _wrapper(INT, 0),
        "StringValue": _wrapper(STRING, ""),
        "UInt32Value": _wrapper(UINT, Uint(0), _UINT32),
        "UInt64Value": _wrapper(UINT, Uint(0), range(UINT_MAX + 1)),
        "Duration": Message(_SPAN, DURATION, lambda fields: Duration(_nanos(fields))),
        "Timestamp": Message(_SPAN, TIMESTAMP, lambda fields: Timestamp(_nanos(fields))),
        "Struct": Message({"fields": _JSON}, _JSON, lambda fields: fields.get("fields", {})),
        "ListValue": Message(
            {"values": LIST_DYN}, LIST_DYN, lambda fields: fields.get("values", ())
        ),
    }.items()
}
"""By full name."""

ENUM_VALUES: Final = {"google.protobuf.NullValue.NULL_VALUE": 0}
"""Names of numbers."""
