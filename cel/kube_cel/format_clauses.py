"""
The clauses of ``"..".format([..])``: how they are read, and which types each takes.

Shared by the function itself and by the check of literals, which refuses a clause that can
never fit its argument when the program is compiled.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from kube_cel.errors import EvaluationError

DEFAULT_PRECISION: Final = 6
MAX_PRECISION: Final = 1_000
"""More digits than that no one reads; without a limit a short text could ask for gigabytes."""

_INTEGERS: Final = frozenset({"int", "uint"})
_TEXTUAL: Final = _INTEGERS | {
    "double",
    "bool",
    "string",
    "bytes",
    "list",
    "map",
    "type",
    "null_type",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
}
ACCEPTED: Final = {
    "s": _TEXTUAL,
    "d": _INTEGERS,
    "f": frozenset({"double", "string"}),
    "e": frozenset({"double", "string"}),
    "b": _INTEGERS | {"bool"},
    "x": _INTEGERS | {"string", "bytes"},
    "X": _INTEGERS | {"string", "bytes"},
    "o": _INTEGERS,
}
"""Names of the types that each clause takes."""
_COMPLAINTS: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}


class Clause(msgspec.Struct, frozen=True):
    """One ``%`` clause: its letter and the precision before it."""

    letter: str
    precision: int


def clauses(text: str, count: int) -> Iterator[str | Clause]:
    """
    The text's literal parts and clauses, in order, for this many arguments.

    Raises ``EvaluationError`` at a clause that is malformed or has no argument.
    """
    position, used = 0, 0
    while position < len(text):
        percent = text.find("%", position)
        if percent < 0:
            yield text[position:]
            return
        if percent > position:
            yield text[position:percent]
        if text.startswith("%%", percent):
            yield "%"
            position = percent + 2
            continue
        if percent + 1 >= len(text):
            raise EvaluationError("unexpected end of string")
        if used >= count:
            raise EvaluationError(f"index {used} out of range")
        clause, position = _clause(text, percent + 1)
        used += 1
        yield clause


def _clause(text: str, start: int) -> tuple[Clause, int]:
    precision, position = DEFAULT_PRECISION, start
    if text[position] == ".":
        end = position + 1
        while end < len(text) and text[end] in "0123456789":
            end += 1
        if end >= len(text) or end == position + 1 or end - position > len(str(MAX_PRECISION)) + 1:
            raise EvaluationError("could not parse formatting clause: bad precision")
        precision, position = int(text[position + 1 : end]), end
    letter = text[position]
    if letter not in ACCEPTED or precision > MAX_PRECISION:
        raise EvaluationError(
            f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
        )
    return Clause(letter, precision), position + 1


def refusal(clause: Clause, type_name: str) -> EvaluationError:
    """The error for an argument of a type that the clause does not take."""
    complaint = _COMPLAINTS[clause.letter.lower()]
    return EvaluationError(f"error during formatting: {complaint}, was given {type_name}")
