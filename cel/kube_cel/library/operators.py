"""Arithmetic and the operators that compare; logic is the evaluator's own."""

import math
from collections.abc import Callable
from typing import Any, Final

from kube_cel import costs
from kube_cel.costs import TRAVERSAL, tenth
from kube_cel.declarations import CallSite, Function, Overload, Size
from kube_cel.errors import EvaluationError, NoSuchOverloadError
from kube_cel.library.declare import function
from kube_cel.saturating import added, scaled
from kube_cel.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    FORMAT,
    INT,
    IP,
    LIST_A,
    QUANTITY,
    SEMVER,
    STRING,
    TIMESTAMP,
    UINT,
    URL,
    A,
    Type,
)
from kube_cel.values.equality import compare, equal, size
from kube_cel.values.formats import NamedFormat
from kube_cel.values.network import Cidr, Ip
from kube_cel.values.numbers import checked_int, checked_uint
from kube_cel.values.optional import Optional
from kube_cel.values.quantity import Quantity
from kube_cel.values.semver import Semver
from kube_cel.values.time import Duration, Timestamp
from kube_cel.values.url import Url
from kube_cel.values.work import spend


def _divided(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("division by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("modulus by zero")
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _int_remainder(a: int, b: int) -> int:
    checked_int(_divided(a, b) if b else 0)
    return _remainder(a, b)


def _double_quotient(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _joined_cost(a: object, b: object) -> int:
    return tenth(size(a) + size(b))


def _estimate_joined(site: CallSite) -> tuple[int, Size | None]:
    total = _sum(site)
    return scaled(total.high, TRAVERSAL), total


def _estimate_list_sum(site: CallSite) -> tuple[int, Size | None]:
    return 1, _sum(site)


def _sum(site: CallSite) -> Size:
    a, b = site.size(0), site.size(1)
    return Size(added(a.low, b.low), added(a.high, b.high))


def _in_order(*overloads: Overload) -> tuple[Overload, ...]:
    """As Kubernetes has them: where a type is not known, the first that fits decides it."""
    return tuple(sorted(overloads, key=lambda overload: overload.id))


def _numeric(name: str, on_int: Any, on_double: Any) -> tuple[Overload, ...]:
    """The three overloads over numbers of one kind."""
    return (
        function(f"{name}_double", (DOUBLE, DOUBLE), DOUBLE, on_double),
        function(f"{name}_int64", (INT, INT), INT, lambda a, b: checked_int(on_int(a, b))),
        function(
            f"{name}_uint64",
            (UINT, UINT),
            UINT,
            lambda a, b: checked_uint(on_int(int(a), int(b))),
        ),
    )


def concatenated(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """``+`` of lists. It costs 1 whatever their length, so the work is counted."""
    spend(len(a) + len(b))
    return a + b


def _plus_time(a: Timestamp, b: Duration) -> Timestamp:
    return Timestamp(a.nanos + b.nanos, a.offset)


_ADD: Final = _in_order(
    function(
        "add_bytes",
        (BYTES, BYTES),
        BYTES,
        lambda a, b: a + b,
        cost=_joined_cost,
        estimate=_estimate_joined,
    ),
    function(
        "add_duration_duration",
        (DURATION, DURATION),
        DURATION,
        lambda a, b: Duration(a.nanos + b.nanos),
    ),
    function(
        "add_duration_timestamp",
        (DURATION, TIMESTAMP),
        TIMESTAMP,
        lambda a, b: _plus_time(b, a),
    ),
    function("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, _plus_time),
    function("add_list", (LIST_A, LIST_A), LIST_A, concatenated, estimate=_estimate_list_sum),
    function(
        "add_string",
        (STRING, STRING),
        STRING,
        lambda a, b: a + b,
        cost=_joined_cost,
        estimate=_estimate_joined,
    ),
    *_numeric("add", lambda a, b: a + b, lambda a, b: a + b),
)

_SUBTRACT: Final = _in_order(
    function(
        "subtract_duration_duration",
        (DURATION, DURATION),
        DURATION,
        lambda a, b: Duration(a.nanos - b.nanos),
    ),
    function(
        "subtract_timestamp_duration",
        (TIMESTAMP, DURATION),
        TIMESTAMP,
        lambda a, b: Timestamp(a.nanos - b.nanos, a.offset),
    ),
    function(
        "subtract_timestamp_timestamp",
        (TIMESTAMP, TIMESTAMP),
        DURATION,
        lambda a, b: Duration(a.nanos - b.nanos),
    ),
    *_numeric("subtract", lambda a, b: a - b, lambda a, b: a - b),
)


def _comparison(name: str, operator: str, holds: Callable[[int], bool]) -> Function:
    def call(a: object, b: object) -> bool:
        return holds(compare(a, b))

    def smaller_cost(a: object, b: object) -> int:
        return tenth(min(size(a), size(b)))

    def row(suffix: str, left: Type, right: Type) -> Overload:
        traversed = left is STRING or left is BYTES
        return function(
            f"{name}_{suffix}",
            (left, right),
            BOOL,
            call,
            cost=smaller_cost if traversed else None,
            estimate=costs.estimate_smaller if traversed else None,
        )

    return Function(operator, tuple(row(*signature) for signature in _COMPARABLE))


_COMPARABLE: Final = (
    ("bool", BOOL, BOOL),
    ("int64", INT, INT),
    ("int64_double", INT, DOUBLE),
    ("int64_uint64", INT, UINT),
    ("uint64", UINT, UINT),
    ("uint64_double", UINT, DOUBLE),
    ("uint64_int64", UINT, INT),
    ("double", DOUBLE, DOUBLE),
    ("double_int64", DOUBLE, INT),
    ("double_uint64", DOUBLE, UINT),
    ("string", STRING, STRING),
    ("bytes", BYTES, BYTES),
    ("timestamp", TIMESTAMP, TIMESTAMP),
    ("duration", DURATION, DURATION),
)

_FLAT_CLASSES: Final = frozenset({Quantity, Semver, Ip, Cidr, Url, NamedFormat})
_FLAT_TYPES: Final = {QUANTITY: 1, SEMVER: 1, IP: 1, CIDR: 1, FORMAT: 7}


def _inner_size(value: object) -> int:
    if value.__class__ is Optional:
        return _inner_size(value.value) if value.present else 1
    return size(value)


def _unequal(a: object, b: object) -> bool:
    """Unlike ``==``, this has an answer also for values that refuse to be compared."""
    try:
        return not equal(a, b)
    except NoSuchOverloadError:
        return True


def _unequal_cost(a: object, b: object) -> int:
    return tenth(min(_inner_size(a), _inner_size(b)))


def _equal_cost(a: object, b: object) -> int:
    return 1 if a.__class__ in _FLAT_CLASSES else _unequal_cost(a, b)


def _estimate_equal(site: CallSite) -> tuple[int, Size | None]:
    left, right = site.type(0), site.type(1)
    if left == right and left in _FLAT_TYPES:
        return _FLAT_TYPES[left], None
    if left == right == URL:
        known = site.known_size(1)
        return 1 if known is None else scaled(known.high, TRAVERSAL), None
    return costs.estimate_smaller(site)


LIBRARY: Final = (
    Function("_+_", _ADD),
    Function("_-_", _SUBTRACT),
    Function("_*_", _numeric("multiply", lambda a, b: a * b, lambda a, b: a * b)),
    Function("_/_", _numeric("divide", _divided, _double_quotient)),
    Function(
        "_%_",
        (
            function("modulo_int64", (INT, INT), INT, _int_remainder),
            function(
                "modulo_uint64",
                (UINT, UINT),
                UINT,
                lambda a, b: checked_uint(_remainder(int(a), int(b))),
            ),
        ),
    ),
    Function(
        "-_",
        (
            function("negate_double", (DOUBLE,), DOUBLE, lambda a: -a),
            function("negate_int64", (INT,), INT, lambda a: checked_int(-a)),
        ),
    ),
    Function(
        "_==_",
        (function("equals", (A, A), BOOL, equal, cost=_equal_cost, estimate=_estimate_equal),),
    ),
    Function(
        "_!=_",
        (
            function(
                "not_equals",
                (A, A),
                BOOL,
                _unequal,
                cost=_unequal_cost,
                estimate=costs.estimate_smaller,
            ),
        ),
    ),
    _comparison("less", "_<_", lambda order: order < 0),
    _comparison("less_equals", "_<=_", lambda order: order <= 0),
    _comparison("greater", "_>_", lambda order: order > 0),
    _comparison("greater_equals", "_>=_", lambda order: order >= 0),
)
