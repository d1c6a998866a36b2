"""``"..".format([..])``: values written into a text, numbers as English writes them."""

import math
import unicodedata
from collections.abc import Callable
from types import NoneType
from typing import Any, Final

from kube_cel.costs import estimate_traversal, first_traversed
from kube_cel.declarations import Function
from kube_cel.errors import EvaluationError
from kube_cel.format_clauses import ACCEPTED, Clause, clauses, refusal
from kube_cel.library.declare import method
from kube_cel.types import LIST_DYN, STRING
from kube_cel.values.equality import size
from kube_cel.values.maps import DomainMap, key_value
from kube_cel.values.numbers import Uint
from kube_cel.values.text import double_text
from kube_cel.values.time import Duration, Timestamp, duration_text, timestamp_text
from kube_cel.values.typenames import TypeName, name_of
from kube_cel.values.work import spend

_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_SHORT_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_BYTE: Final = 0x80
_WIDE: Final = 0x10000


def _format(text: str, arguments: tuple[object, ...]) -> str:
    values = iter(arguments)
    return "".join(
        part if isinstance(part, str) else _written(part, next(values))
        for part in clauses(text, len(arguments))
    )


def _written(clause: Clause, value: Any) -> str:
    kind = name_of(value)
    if kind not in ACCEPTED[clause.letter]:
        raise refusal(clause, kind)
    spend(size(value))
    match clause.letter:
        case "s":
            return _text(value)
        case "d":
            return str(int(value))
        case "f":
            return _fixed(_double(clause, value), clause.precision)
        case "e":
            return _scientific(_double(clause, value), clause.precision)
        case "b":
            return f"{int(value):b}"
        case "o":
            return f"{int(value):o}"
        case _:
            return _hexadecimal(value, clause.letter)


def _double(clause: Clause, value: Any) -> float:
    if isinstance(value, float):
        return value
    if value not in _SPECIAL:
        raise refusal(clause, "string")
    return _SPECIAL[value]


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return None


def _fixed(value: float, precision: int) -> str:
    return _special(value) or f"{value + 0.0:,.{precision}f}"


def _scientific(value: float, width: int) -> str:
    special = _special(value)
    if special is None:
        mantissa, _, exponent = f"{value:.6e}".partition("e")
        special = f"{mantissa}\u00d710{exponent.removeprefix('+').translate(_SUPERSCRIPT)}"
    return special.rjust(width)


def _hexadecimal(value: Any, letter: str) -> str:
    if isinstance(value, str):
        value = value.encode()
    shown = value.hex() if isinstance(value, bytes) else f"{int(value):x}"
    return shown.upper() if letter == "X" else shown


def _text(value: Any) -> str:
    match value:
        case bytes():
            return _utf8(value)
        case str():
            return value
        case float():
            return double_text(value)
        case Timestamp():
            return timestamp_text(value)
        case Duration():
            return duration_text(value)
        case TypeName(name=name):
            return str(name)
        case _:
            return _inner(value)


def _utf8(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("error during formatting: invalid UTF-8 in bytes") from None


def _inner(value: Any) -> str:
    """A value as it is written inside a list or map: as a literal of CEL."""
    spend(size(value))
    write = _WRITERS.get(value.__class__)
    if write is None:
        raise EvaluationError(f"error during formatting: no clause for {name_of(value)}")
    return write(value)


def _go_special(value: float) -> str:
    return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")


def _map(mapping: dict[Any, Any]) -> str:
    entries = [(_key(key_value(key)), _inner(value)) for key, value in mapping.items()]
    return "{" + ", ".join(f"{key}:{value}" for key, value in sorted(entries)) + "}"


def _key(key: object) -> str:
    if key.__class__ not in (str, bool, int, Uint):
        raise EvaluationError(
            f"error during formatting: no formatting function for map key of type {name_of(key)}"
        )
    return _inner(key)


def _quoted(text: str) -> str:
    """The text as Go's ``%q`` writes it."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    if character == " " or unicodedata.category(character)[0] not in "CZ":
        return character
    code = ord(character)
    if code < _BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _WIDE else f"\\U{code:08x}"


def _double_literal(value: float) -> str:
    return f"{value:.6f}" if math.isfinite(value) else _quoted(_go_special(value))


_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    NoneType: lambda _value: "null",
    bool: lambda value: "true" if value else "false",
    int: str,
    Uint: lambda value: str(int(value)),
    float: _double_literal,
    str: _quoted,
    bytes: lambda value: f"b{_quoted(_utf8(value))}",
    tuple: lambda value: f"[{', '.join(map(_inner, value))}]",
    dict: _map,
    DomainMap: _map,
    Timestamp: lambda value: f"timestamp({_quoted(timestamp_text(value))})",
    Duration: lambda value: f"duration({_quoted(duration_text(value))})",
    TypeName: lambda value: value.name,
}

LIBRARY: Final = (
    Function(
        "format",
        (
            method(
                "string_format",
                (STRING, LIST_DYN),
                STRING,
                _format,
                cost=first_traversed,
                estimate=estimate_traversal(),
            ),
        ),
    ),
)
