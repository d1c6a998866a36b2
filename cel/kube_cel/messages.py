"""
The few messages that an expression may write out: wrappers, spans of time, JSON.

None of them is a value of its own: each becomes the plain value it stands for.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from kube_cel.errors import EvaluationError
from kube_cel.types import (
    ANY,
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
from kube_cel.values.numbers import INT_MAX, INT_MIN, UINT_MAX, Uint
from kube_cel.values.time import MOMENTS, SECOND, Duration, Timestamp

_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(INT_MIN, INT_MAX + 1)
_UINT32: Final = range(2**32)


class Message(msgspec.Struct, frozen=True, eq=False):
    """The fields that may be set, and the value that the set fields make."""

    fields: Mapping[str, Type]
    result: Type
    make: Callable[[Mapping[Any, Any]], object]


def _wrapper(kind: Type, empty: object, allowed: range | None = None) -> Message:
    def make(fields: Mapping[Any, Any]) -> object:
        value = fields.get("value", empty)
        if value.__class__ is not empty.__class__:
            raise EvaluationError("field type conversion error")
        if allowed is not None and value not in allowed:
            raise EvaluationError("field type conversion error: integer overflow")
        return value

    return Message({"value": kind}, kind, make)


def _float(fields: Mapping[Any, Any]) -> object:
    """A double that has gone through 32 bits."""
    value = _wrapper(DOUBLE, 0.0).make(fields)
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        raise EvaluationError("field type conversion error: overflow") from None


def _nanos(fields: Mapping[Any, Any], allowed: range) -> int:
    seconds, nanos = fields.get("seconds", 0), fields.get("nanos", 0)
    if seconds.__class__ is not int or nanos.__class__ is not int:
        raise EvaluationError("field type conversion error")
    return int(min(max(seconds * SECOND + nanos, allowed[0]), allowed[-1]))


def _json(fields: Mapping[Any, Any]) -> object:
    return next(iter(fields.values()), None)


def _no_value(_fields: Mapping[Any, Any]) -> object:
    raise EvaluationError("unsupported conversion of google.protobuf.Any")


_SPAN: Final = {"seconds": INT, "nanos": INT}
_JSON: Final = map_of(STRING, DYN)

MESSAGES: Final = {
    f"google.protobuf.{name}": message
    for name, message in {
        "BoolValue": _wrapper(BOOL, empty=False),
        "BytesValue": _wrapper(BYTES, b""),
        "DoubleValue": _wrapper(DOUBLE, 0.0),
        "FloatValue": Message({"value": DOUBLE}, DOUBLE, _float),
        "Int32Value": _wrapper(INT, 0, _INT32),
        "Int64Value": _wrapper(INT, 0),
        "StringValue": _wrapper(STRING, ""),
        "UInt32Value": _wrapper(UINT, Uint(0), _UINT32),
        "UInt64Value": _wrapper(UINT, Uint(0), range(UINT_MAX + 1)),
        "Duration": Message(_SPAN, DURATION, lambda fields: Duration(_nanos(fields, _INT64))),
        "Timestamp": Message(_SPAN, TIMESTAMP, lambda fields: Timestamp(_nanos(fields, MOMENTS))),
        "Any": Message({"type_url": STRING, "value": BYTES}, ANY, _no_value),
        "Value": Message(
            {
                "null_value": INT,
                "number_value": DOUBLE,
                "string_value": STRING,
                "bool_value": BOOL,
                "struct_value": _JSON,
                "list_value": LIST_DYN,
            },
            DYN,
            _json,
        ),
        "Struct": Message({"fields": _JSON}, _JSON, lambda fields: fields.get("fields", {})),
        "ListValue": Message(
            {"values": LIST_DYN}, LIST_DYN, lambda fields: fields.get("values", ())
        ),
    }.items()
}
"""By full name."""

ENUM_VALUES: Final = {"google.protobuf.NullValue.NULL_VALUE": 0}
"""Names of numbers."""
