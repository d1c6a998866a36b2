"""Which fields a kind has, and of which type; unknown ones are found and left out.

The table is generated (``devcluster/generate_schema.py``). Only shape is checked here: whether a
value makes sense is validation's question.
"""

from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.resources import Object
from dra_shared.quantity import QuantityError, parse_quantity

SCALARS: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "quantity": (str, int, float),
}


class Strictness(StrEnum):
    """What an unknown field leads to; the words are those of ``?fieldValidation=``."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


class Shaped(msgspec.Struct, frozen=True):
    """An object that holds only known fields, and what was wrong with it before."""

    obj: Object
    warnings: tuple[str, ...]


class WrongTypeError(Exception):
    """A value is of another JSON type than its field. The caller must act."""


@cache
def types() -> dict[str, dict[str, str]]:
    """Type name to field name to type word, for every type of every served kind."""
    text = files("dra_devcluster.api").joinpath("schema.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, dict[str, str]])


def shape(obj: Any, kind: str, strictness: Strictness) -> Shaped:
    """The object without unknown, null and empty fields. Raises BadRequest (400).

    Unknown fields are an error when strict, a warning otherwise (KEP-2885).
    """
    unknown: list[str] = []
    what = f'{kind} in version "v1" cannot be handled as a {kind}'
    try:
        shaped = _shape(obj, kind, "", unknown)
    except WrongTypeError as wrong:
        raise ApiError(400, f"{what}: json: {wrong}") from wrong
    problems = tuple(f'unknown field "{path}"' for path in unknown)
    if problems and strictness is Strictness.STRICT:
        raise ApiError(400, f"{what}: strict decoding error: {', '.join(problems)}")
    return Shaped(shaped, problems if strictness is Strictness.WARN else ())


def _shape(value: Any, word: str, path: str, unknown: list[str]) -> Any:
    if word == "any":
        return value
    if word in SCALARS:
        return _scalar(value, word, path)
    if word.startswith("["):
        _expect(value, list, path, "array")
        return [
            _shape(item, word[1:], f"{path}[{index}]", unknown) for index, item in enumerate(value)
        ]
    _expect(value, dict, path, "object")
    if word.startswith("{"):
        return {
            key: _shape(item, word[1:], f"{path}.{key}", unknown) for key, item in value.items()
        }
    return _struct(value, word, path, unknown)


def _struct(value: Object, type_name: str, path: str, unknown: list[str]) -> Object:
    fields = types()[type_name]
    shaped: Object = {}
    for name, item in value.items():
        inner = f"{path}.{name}" if path else name
        if name not in fields:
            unknown.append(inner)
        elif item is not None and not _is_empty_collection(item, fields[name]):
            shaped[name] = _shape(item, fields[name], inner, unknown)
    return shaped


def _is_empty_collection(item: Any, word: str) -> bool:
    """Lists and maps without entries are never written; an empty object may mean something."""
    return not item and word[0] in "[{" and isinstance(item, list | dict)


def _scalar(value: Any, word: str, path: str) -> Any:
    of_type = isinstance(value, SCALARS[word])
    if not of_type or (isinstance(value, bool) and word != "boolean"):
        raise WrongTypeError(
            f"cannot unmarshal {type(value).__name__} into field {path} of type {word}"
        )
    return _quantity(str(value), path) if word == "quantity" else value


def _quantity(text: str, path: str) -> str:
    try:
        return str(parse_quantity(text))
    except QuantityError as wrong:
        raise WrongTypeError(f"cannot unmarshal {path}: {wrong}") from wrong


def _expect(value: Any, wanted: type, path: str, word: str) -> None:
    if not isinstance(value, wanted):
        found = type(value).__name__
        raise WrongTypeError(f"cannot unmarshal {found} into field {path} of type {word}")
