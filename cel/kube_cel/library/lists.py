"""Lists: Kubernetes' own functions and the extension of CEL's ``lists`` library."""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any, Final

from kube_cel.costs import TRAVERSAL
from kube_cel.declarations import CallSite, Function, Overload, RuntimeCost, Size
from kube_cel.errors import BrokenDownError, EvaluationError, NoSuchOverloadError
from kube_cel.library.declare import function, method
from kube_cel.library.traversal import estimate_traversed, traversed
from kube_cel.saturating import UNKNOWN, added, multiplied, scaled
from kube_cel.syntax import Literal
from kube_cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST_A,
    LIST_DYN,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    Type,
    list_of,
    optional_of,
)
from kube_cel.values.equality import compare, equal, size
from kube_cel.values.numbers import Uint, checked_int, checked_uint
from kube_cel.values.optional import NONE, Optional
from kube_cel.values.time import Duration

_CALL: Final = 11
"""A call that makes a list: 1 for the call, 10 for the list."""
_MAX_RANGE: Final = 1_000_000
_COMPARABLE: Final = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_List = tuple[Any, ...]


def _order(a: object, b: object) -> int:
    """The order of two elements; those without one count as equal (as in Kubernetes)."""
    try:
        return compare(a, b)
    except EvaluationError:
        return 0


def _is_sorted(elements: _List) -> bool:
    return all(_order(a, b) <= 0 for a, b in zip(elements, elements[1:], strict=False))


def _extreme(name: str, sign: int) -> Callable[[_List], object]:
    def call(elements: _List) -> object:
        if not elements:
            raise EvaluationError(f"{name} called on empty list")
        best = elements[0]
        for element in elements[1:]:
            if _order(best, element) == sign:
                best = element
        return best

    return call


def _sum(zero: Any, add: Callable[[Any, Any], Any]) -> Callable[[_List], Any]:
    def call(elements: _List) -> Any:
        total = zero
        for element in elements:
            if element.__class__ is not zero.__class__:
                raise NoSuchOverloadError("sum")
            total = add(total, element)
        return total

    return call


_SUMS: Final = (
    (INT, 0, lambda a, b: checked_int(a + b)),
    (UINT, Uint(0), lambda a, b: checked_uint(int(a) + int(b))),
    (DOUBLE, 0.0, lambda a, b: a + b),
    (DURATION, Duration(0), lambda a, b: Duration(a.nanos + b.nanos)),
)


def _positions(elements: _List, wanted: object) -> list[int]:
    return [i for i, element in enumerate(elements) if _same(element, wanted)]


def _same(a: object, b: object) -> bool:
    try:
        return equal(a, b)
    except EvaluationError:
        return False


def _index_of(elements: _List, wanted: object) -> int:
    return next((i for i, element in enumerate(elements) if _same(element, wanted)), -1)


def _last_index_of(elements: _List, wanted: object) -> int:
    found = _index_of(elements[::-1], wanted)
    return -1 if found < 0 else len(elements) - 1 - found


def _slice(elements: _List, start: int, end: int) -> _List:
    if not 0 <= start <= end <= len(elements):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(elements)}")
    return elements[start:end]


def _flatten(elements: _List, depth: int = 1) -> _List:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[object] = []
    for element in elements:
        if depth > 0 and element.__class__ is tuple:
            flat.extend(_flatten(element, depth - 1))
        else:
            flat.append(element)
    return tuple(flat)


def _range(count: int) -> _List:
    if not 0 <= count <= _MAX_RANGE:
        raise EvaluationError(f"lists.range: size {count} is not in 0..{_MAX_RANGE}")
    return tuple(range(count))


def _distinct(elements: _List) -> _List:
    unique: list[object] = []
    for element in elements:
        if not any(_same(element, other) for other in unique):
            unique.append(element)
    return tuple(unique)


def _first(elements: _List) -> Optional:
    return Optional(elements[0]) if elements else NONE


def _last(elements: _List) -> Optional:
    return Optional(elements[-1]) if elements else NONE


def _sorted_by(elements: _List, keys: _List) -> _List:
    if len(elements) != len(keys):
        raise EvaluationError("sortBy expected as many keys as elements")
    if not keys:
        return elements
    if any(key.__class__ is not keys[0].__class__ for key in keys):
        raise EvaluationError("list elements must have the same type")
    order = sorted(range(len(keys)), key=cmp_to_key(lambda i, j: compare(keys[i], keys[j])))
    return tuple(elements[i] for i in order)


def _sorted(elements: _List) -> _List:
    return _sorted_by(elements, elements)


def _result_cost(result: object, *_args: object) -> int:
    return _CALL + size(result)


def _flatten_cost(_result: object, elements: object, depth: Any = 1) -> int:
    if depth.__class__ is not int:
        raise BrokenDownError("flatten needs a number of levels")
    return _CALL + max(depth, 0) * size(elements)


def _self_compared(position: int) -> RuntimeCost:
    def cost(_result: object, *args: Any) -> int:
        elements = args[position]
        if elements.__class__ is not tuple:
            raise BrokenDownError("there is no list to compare with itself")
        factor = 2.0
        if elements and elements[0].__class__ in (str, bytes):
            factor += TRAVERSAL
        return _CALL + int(len(elements) * len(elements) * factor)

    return cost


def _literal(site: CallSite, position: int, otherwise: int) -> int:
    node = site.node(position)
    if isinstance(node, Literal) and node.value.__class__ in (int, Uint):
        return max(int(node.value), 0)  # type: ignore[call-overload] - a number, by its class
    return otherwise


def _made(cost: int, result: Size) -> tuple[int, Size]:
    return added(cost, _CALL), result


def _estimate_slice(site: CallSite) -> tuple[int, Size | None]:
    start, end = _literal(site, 1, 0), _literal(site, 2, site.size(0).high)
    count = (end - start) % 2**64
    return _made(count, Size(count, count))


def _estimate_range(site: CallSite) -> tuple[int, Size | None]:
    count = _literal(site, 0, UNKNOWN)
    return _made(scaled(count, 1.0), Size(count, count))


def _estimate_copy(site: CallSite) -> tuple[int, Size | None]:
    return _made(scaled(site.size(0).high, 1.0), site.size(0))


def _estimate_flatten(site: CallSite) -> tuple[int, Size | None]:
    depth = _literal(site, 1, UNKNOWN) if site.count() > 1 else 1
    return _made(scaled(site.size(0).high, float(depth)), site.size(0))


def _estimate_self_compared(position: int, factor: float) -> Any:
    def estimate(site: CallSite) -> tuple[int, Size | None]:
        one = site.size(position)
        square = Size(multiplied(one.low, one.low), multiplied(one.high, one.high))
        return _made(scaled(square.high, factor), square)

    return estimate


def _factor(element: Type) -> float:
    return 2.0 + TRAVERSAL if element in (STRING, BYTES) else 2.0


def _each(name: str, call: Callable[..., object], result: Type | None = None) -> list[Overload]:
    """One method for lists of each comparable type."""
    return [
        method(f"list_{kind.name}_{name}", (list_of(kind),), result or kind, call)
        for kind in _COMPARABLE
    ]


def _sorts() -> tuple[Overload, ...]:
    return tuple(
        method(
            f"list_{kind.name}_sort",
            (list_of(kind),),
            list_of(kind),
            _sorted,
            cost=_self_compared(0),
            estimate=_estimate_self_compared(0, _factor(kind)),
        )
        for kind in _COMPARABLE
    )


def _sorts_by() -> tuple[Overload, ...]:
    return tuple(
        method(
            f"list_{kind.name}_sortByAssociatedKeys",
            (LIST_A, list_of(kind)),
            LIST_A,
            _sorted_by,
            cost=_self_compared(1),
            estimate=_estimate_self_compared(1, _factor(kind)),
        )
        for kind in _COMPARABLE
    )


def _traversing(name: str, overloads: tuple[Overload, ...]) -> Function:
    return Function(name, overloads, cost=traversed, estimate=estimate_traversed)


LIBRARY: Final = (
    _traversing("isSorted", tuple(_each("is_sorted", _is_sorted, BOOL))),
    _traversing("min", tuple(_each("min", _extreme("min", 1)))),
    _traversing("max", tuple(_each("max", _extreme("max", -1)))),
    _traversing(
        "sum",
        tuple(
            method(f"list_{kind.name}_sum", (list_of(kind),), kind, _sum(zero, add))
            for kind, zero, add in _SUMS
        ),
    ),
    _traversing("indexOf", (method("list_a_index_of_int", (LIST_A, A), INT, _index_of),)),
    _traversing(
        "lastIndexOf",
        (method("list_a_last_index_of_int", (LIST_A, A), INT, _last_index_of),),
    ),
    Function(
        "slice",
        (
            method(
                "list_slice",
                (LIST_A, INT, INT),
                LIST_A,
                _slice,
                cost=_result_cost,
                estimate=_estimate_slice,
            ),
        ),
    ),
    Function(
        "flatten",
        (
            method(
                "list_flatten",
                (list_of(LIST_A),),
                LIST_A,
                _flatten,
                cost=_flatten_cost,
                estimate=_estimate_flatten,
            ),
            method(
                "list_flatten_int",
                (LIST_DYN, INT),
                list_of(DYN),
                _flatten,
                cost=_flatten_cost,
                estimate=_estimate_flatten,
            ),
        ),
    ),
    Function("sort", _sorts()),
    Function("@sortByAssociatedKeys", _sorts_by()),
    Function(
        "lists.range",
        (
            function(
                "lists_range",
                (INT,),
                list_of(INT),
                _range,
                cost=_result_cost,
                estimate=_estimate_range,
            ),
        ),
    ),
    Function(
        "reverse",
        (
            method(
                "list_reverse",
                (LIST_A,),
                LIST_A,
                lambda elements: elements[::-1],
                cost=_result_cost,
                estimate=_estimate_copy,
            ),
        ),
    ),
    Function("first", (method("list_first", (LIST_A,), optional_of(A), _first),)),
    Function("last", (method("list_last", (LIST_A,), optional_of(A), _last),)),
    Function(
        "distinct",
        (
            method(
                "list_distinct",
                (LIST_A,),
                LIST_A,
                _distinct,
                cost=_self_compared(0),
                estimate=_estimate_self_compared(0, 2.0),
            ),
        ),
    ),
)
