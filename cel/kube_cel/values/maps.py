"""
Maps: dicts whose keys carry their type.

As in Go, 1, 1u and 1.0 are three keys, but a look-up by one number finds another kind: an
int finds a uint, a uint an int, a whole double either. Strings, the usual keys, and ints
are stored as they are.
"""

from collections.abc import Mapping
from typing import Any, Final

from kube_cel.errors import BrokenDownError
from kube_cel.values.formats import NamedFormat
from kube_cel.values.network import Ip
from kube_cel.values.numbers import Uint
from kube_cel.values.optional import ABSENT
from kube_cel.values.semver import Semver
from kube_cel.values.time import Duration

_UNHASHABLE: Final = frozenset({bytes, Semver, NamedFormat})


class DomainMap(dict[str, object]):
    """A device's attributes or capacities by domain: a domain it lacks reads as empty."""

    __slots__ = ()


class _Opaque:
    """A key that is only ever found by itself, the very same object."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        # Python has one empty tuple, where Go has as many empty lists as are written
        return isinstance(other, _Opaque) and self.value is other.value and self.value != ()

    def __hash__(self) -> int:
        return id(self.value)


EMPTY: Final[dict[str, object]] = {}


def map_key(value: Any) -> object:
    """
    How a value is stored as a key.

    Raises ``BrokenDownError`` for values that Go cannot hash.
    """
    kind = value.__class__
    if kind is str or kind is int:
        return value
    if kind is bool or kind is float:
        return (kind, value)
    if kind is Uint:
        return (Uint, int(value))
    if kind is Duration:
        return (Duration, value.nanos)
    if kind is Ip:
        return (Ip, value.address)
    if kind in _UNHASHABLE:
        raise BrokenDownError(f"{kind.__name__} cannot be a key")
    return _Opaque(value)


def key_value(key: Any) -> object:
    """The value that a stored key stands for."""
    if key.__class__ is tuple:
        make, content = key
        return make(content)
    return key.value if key.__class__ is _Opaque else key


def find_key(mapping: Mapping[Any, Any], key: Any) -> object:
    """What stands under a key, ABSENT if nothing does."""
    kind = key.__class__
    if kind is str:
        return mapping.get(key, ABSENT)
    if not mapping:
        return ABSENT
    found = mapping.get(map_key(key), ABSENT)
    if found is not ABSENT or kind is bool:
        return found
    if kind is int:
        return mapping.get((Uint, key), ABSENT)
    if kind is Uint or (kind is float and key.is_integer()):
        return mapping.get(int(key), mapping.get((Uint, int(key)), ABSENT))
    return ABSENT
