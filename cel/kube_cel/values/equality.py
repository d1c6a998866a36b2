"""When two values are equal, which of two is less, and how large a value is."""

import math
from collections.abc import Callable
from typing import Any, Final

from kube_cel.errors import EvaluationError, NoSuchOverloadError
from kube_cel.values.formats import NamedFormat
from kube_cel.values.maps import DomainMap, find_key, key_value
from kube_cel.values.network import Cidr, Ip
from kube_cel.values.numbers import Uint
from kube_cel.values.optional import ABSENT, Optional
from kube_cel.values.quantity import Quantity
from kube_cel.values.semver import Semver
from kube_cel.values.time import Duration, Timestamp
from kube_cel.values.typenames import TypeName
from kube_cel.values.url import Url
from kube_cel.values.work import spend

_NUMBERS: Final = frozenset({int, Uint, float})
_PLAIN: Final = frozenset({str, bytes, bool, int, Uint})


def equal(a: object, b: object) -> bool:
    """Whether the values are equal. Raises for those that refuse to be compared."""
    kind = a.__class__
    if kind is b.__class__ and kind in _PLAIN:
        return bool(a == b)
    if a is None or b is None:
        return a is b
    rule = _RULES.get(kind)
    return rule(a, b) if rule is not None else False


def same(a: object, b: object) -> bool:
    """Whether the values are equal; values that refuse to be compared are not."""
    try:
        return equal(a, b)
    except NoSuchOverloadError:
        return False


def _numbers(a: Any, b: Any) -> bool:
    kinds = {a.__class__, b.__class__}
    if not kinds <= _NUMBERS:
        return False
    return bool(float(a) == float(b) if float in kinds else int(a) == int(b))


def _lists(a: Any, b: Any) -> bool:
    if not isinstance(b, tuple) or len(a) != len(b):
        return False
    spend(len(a))
    for x, y in zip(a, b, strict=True):
        if (x is not y or x.__class__ not in _PLAIN) and not _not_unequal(x, y):
            return False
    return True


def _not_unequal(a: object, b: object) -> bool:
    """Inside lists and maps, values that refuse to be compared pass for equal (as in Go)."""
    try:
        return equal(a, b)
    except NoSuchOverloadError:
        return True


def _maps(a: Any, b: Any) -> bool:
    if not isinstance(b, dict) or len(a) != len(b):
        return False
    spend(len(a))
    for key, value in a.items():
        other = find_key(b, key_value(key))
        if other is ABSENT or not _not_unequal(value, other):
            return False
    return True


def _optionals(a: Any, b: Any) -> bool:
    if not isinstance(b, Optional) or a.present != b.present:
        return False
    return not a.present or equal(a.value, b.value)


def _quantities(a: Any, b: Any) -> bool:
    # Go's add and sub give a pointer, which no quantity on the left takes for one of its own
    if not isinstance(b, Quantity) or b.derived:
        raise NoSuchOverloadError
    return bool(a.compare(b) == 0)


def _same_kind(key: Callable[[Any], object]) -> Callable[[Any, Any], bool]:
    """Equal by key; a value of another kind is not comparable."""

    def rule(a: Any, b: Any) -> bool:
        if a.__class__ is not b.__class__:
            raise NoSuchOverloadError
        return key(a) == key(b)

    return rule


def _by(key: Callable[[Any], object]) -> Callable[[Any, Any], bool]:
    """Equal by key; a value of another kind is unequal."""
    return lambda a, b: a.__class__ is b.__class__ and key(a) == key(b)


_RULES: Final[dict[type, Callable[[Any, Any], bool]]] = {
    int: _numbers,
    Uint: _numbers,
    float: _numbers,
    tuple: _lists,
    dict: _maps,
    DomainMap: _maps,
    Optional: _optionals,
    Quantity: _quantities,
    Semver: _same_kind(lambda v: v.order),
    Url: _same_kind(lambda v: v.text),
    Ip: _same_kind(lambda v: v.address),
    Cidr: _same_kind(lambda v: (v.address, v.bits)),
    NamedFormat: _same_kind(lambda v: v.name),
    Duration: _by(lambda v: v.nanos),
    Timestamp: _by(lambda v: v.nanos),
    TypeName: _by(lambda v: v.name),
}


def compare(a: Any, b: Any) -> int:
    """-1, 0 or 1. Raises ``NoSuchOverloadError`` for values without an order."""
    kind, other = a.__class__, b.__class__
    if kind in _NUMBERS and other in _NUMBERS:
        return _compare_numbers(a, b)
    if kind is not other or kind not in ORDERED:
        raise NoSuchOverloadError
    if kind is Duration or kind is Timestamp:
        return _sign(a.nanos, b.nanos)
    return _sign(a, b)


ORDERED: Final = frozenset({bool, str, bytes, Duration, Timestamp, *_NUMBERS})
"""Classes of the values that have an order."""


def _compare_numbers(a: Any, b: Any) -> int:
    if float in (a.__class__, b.__class__):
        a, b = float(a), float(b)
        if math.isnan(a) or math.isnan(b):
            raise EvaluationError("NaN values cannot be ordered")
    return _sign(a, b)


def _sign(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def order(a: object, b: object) -> int:
    """
    The order of two elements, 0 for those that have one each but none in common.

    Raises ``NoSuchOverloadError`` for an element that has no order at all, as in Kubernetes.
    """
    if a.__class__ not in ORDERED or b.__class__ not in ORDERED:
        raise NoSuchOverloadError
    try:
        return compare(a, b)
    except EvaluationError:
        return 0


def size(value: object) -> int:
    """Code points, bytes, elements or entries; 1 for a value that has no parts."""
    if isinstance(value, str | bytes | tuple | dict):
        return len(value)
    if isinstance(value, Ip | Cidr):
        return value.size
    return 1
