"""
Maps: dicts whose keys compare as CEL compares them.

Python already holds 1, 1u and 1.0 for one key, as CEL does; only booleans, which Python
holds for numbers, are wrapped.
"""

from typing import Final

from kube_cel.errors import EvaluationError
from kube_cel.values.numbers import Uint

_TRUE: Final = ("bool", True)
_FALSE: Final = ("bool", False)
_KEY_CLASSES: Final = frozenset({int, Uint, str, float})


class DomainMap(dict[str, object]):
    """A device's attributes or capacities by domain: a domain it lacks reads as empty."""

    __slots__ = ()


EMPTY: Final[dict[str, object]] = {}


def map_key(value: object) -> object:
    """How a value is stored as a key. Raises ``EvaluationError`` for what cannot be one."""
    kind = value.__class__
    if kind in _KEY_CLASSES:
        return value
    if kind is bool:
        return _TRUE if value else _FALSE
    raise EvaluationError(f"unsupported key type: {kind.__name__}")


def key_value(key: object) -> object:
    """The value that a stored key stands for."""
    return key[1] if key.__class__ is tuple else key  # type: ignore[index] - only booleans are tuples


def find(mapping: dict[object, object], key: object) -> object | None:
    """The value under the key, None if there is none (null is never stored as None here)."""
    return mapping.get(map_key(key))
