"""Conversions between types, and the types of values."""

import math
import re
from typing import Any, Final

from kube_cel.costs import estimate_traversal, first_traversed
from kube_cel.declarations import CallSite, Function, Overload, Size
from kube_cel.errors import EvaluationError
from kube_cel.library.declare import function
from kube_cel.saturating import WRAP, scaled
from kube_cel.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    STRING,
    TIMESTAMP,
    TYPE_A,
    UINT,
    A,
    Type,
)
from kube_cel.values.numbers import INT_MAX, INT_MIN, UINT_MAX, Uint, checked_int, checked_uint
from kube_cel.values.text import double_text
from kube_cel.values.time import (
    SECOND,
    Timestamp,
    duration_text,
    parse_duration,
    parse_timestamp,
    timestamp_text,
)
from kube_cel.values.typenames import TypeName, name_of

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,100}\Z")
_UNSIGNED: Final = re.compile(r"[0-9]{1,100}\Z")
_DOUBLE: Final = re.compile(
    r"[+-]?(?:(?:_DIGITS\.?(?:_DIGITS)?|\._DIGITS)(?:[eE][+-]?_DIGITS)?|inf(?:inity)?|nan)\Z".replace(
        "_DIGITS", "[0-9]+(?:_[0-9]+)*"
    ),
    re.IGNORECASE,
)
_HEX_DOUBLE: Final = re.compile(
    r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+\Z", re.IGNORECASE
)


def _fault(text: str, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{target}': {text!r}")


def _bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _fault(text, "bool")


def _int(text: str) -> int:
    if not _INTEGER.match(text) or not INT_MIN <= int(text) <= INT_MAX:
        raise _fault(text, "int")
    return int(text)


def _uint(text: str) -> Uint:
    if not _UNSIGNED.match(text) or int(text) > UINT_MAX:
        raise _fault(text, "uint")
    return Uint(text)


def _double(text: str) -> float:
    if _HEX_DOUBLE.match(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            raise _fault(text, "double") from None
    if not _DOUBLE.match(text):
        raise _fault(text, "double")
    value = float(text)
    if math.isinf(value) and "i" not in text.lower():
        raise _fault(text, "double")
    return value


def _int_of_double(value: float) -> int:
    if not float(INT_MIN) < value < float(INT_MAX):
        raise EvaluationError("integer overflow")
    return int(value)


def _uint_of_double(value: float) -> Uint:
    if not 0 <= value < float(UINT_MAX):
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _estimate_bytes(site: CallSite) -> tuple[int, Size | None]:
    text = site.size(0)
    return scaled(text.high, 0.1), Size(text.low, text.high * 4 % WRAP)


def _same(value: Any) -> Any:
    return value


def _rows(target: Type, name: str, *sources: tuple[str, Type, Any]) -> tuple[Overload, ...]:
    return tuple(
        function(f"{source}_to_{name}", (kind,), target, call) for source, kind, call in sources
    )


LIBRARY: Final = (
    Function("bool", _rows(BOOL, "bool", ("bool", BOOL, _same), ("string", STRING, _bool))),
    Function(
        "bytes",
        (
            function("bytes_to_bytes", (BYTES,), BYTES, _same),
            function(
                "string_to_bytes",
                (STRING,),
                BYTES,
                str.encode,
                cost=first_traversed,
                estimate=_estimate_bytes,
            ),
        ),
    ),
    Function(
        "double",
        _rows(
            DOUBLE,
            "double",
            ("double", DOUBLE, _same),
            ("int64", INT, float),
            ("string", STRING, _double),
            ("uint64", UINT, float),
        ),
    ),
    Function(
        "duration",
        _rows(
            DURATION,
            "duration",
            ("duration", DURATION, _same),
            ("string", STRING, parse_duration),
        ),
    ),
    Function("dyn", (function("to_dyn", (A,), DYN, _same),)),
    Function(
        "int",
        _rows(
            INT,
            "int64",
            ("int64", INT, _same),
            ("double", DOUBLE, _int_of_double),
            ("duration", DURATION, lambda value: value.nanos),
            ("string", STRING, _int),
            ("timestamp", TIMESTAMP, lambda value: value.nanos // SECOND),
            ("uint64", UINT, lambda value: checked_int(int(value))),
        ),
    ),
    Function(
        "string",
        (
            *_rows(
                STRING,
                "string",
                ("string", STRING, _same),
                ("bool", BOOL, lambda value: "true" if value else "false"),
            ),
            function(
                "bytes_to_string",
                (BYTES,),
                STRING,
                _text_of_bytes,
                cost=first_traversed,
                estimate=estimate_traversal(keeps_size=True),
            ),
            *_rows(
                STRING,
                "string",
                ("double", DOUBLE, double_text),
                ("duration", DURATION, duration_text),
                ("int64", INT, str),
                ("timestamp", TIMESTAMP, timestamp_text),
                ("uint64", UINT, str),
                ("ip", IP, str),
                ("cidr", CIDR, str),
            ),
        ),
    ),
    Function(
        "timestamp",
        _rows(
            TIMESTAMP,
            "timestamp",
            ("timestamp", TIMESTAMP, _same),
            ("int64", INT, lambda value: Timestamp(value * SECOND)),
            ("string", STRING, parse_timestamp),
        ),
    ),
    Function("type", (function("type", (A,), TYPE_A, lambda value: TypeName(name_of(value))),)),
    Function(
        "uint",
        _rows(
            UINT,
            "uint64",
            ("uint64", UINT, _same),
            ("double", DOUBLE, _uint_of_double),
            ("int64", INT, checked_uint),
            ("string", STRING, _uint),
        ),
    ),
)
