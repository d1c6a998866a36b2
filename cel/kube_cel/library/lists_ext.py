"""Lists: the extension of CEL's ``lists`` library, with the costs that library sets."""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any, Final

from kube_cel.costs import TRAVERSAL
from kube_cel.declarations import CallSite, Estimate, Function, Overload, RuntimeCost, Size
from kube_cel.errors import BrokenDownError, EvaluationError
from kube_cel.library.declare import function, method
from kube_cel.saturating import UNKNOWN, WRAP, added, multiplied, scaled
from kube_cel.syntax import Literal
from kube_cel.types import (
    BYTES,
    COMPARABLE,
    DYN,
    INT,
    LIST_A,
    LIST_DYN,
    STRING,
    A,
    Type,
    list_of,
    optional_of,
)
from kube_cel.values.equality import ORDERED, order, same, size
from kube_cel.values.optional import NONE, Optional
from kube_cel.values.work import spend

_CALL: Final = 11
"""A call that makes a list: 1 for the call, 10 for the list."""
_MAX_RANGE: Final = 1_000_000
_List = tuple[Any, ...]


def _slice(elements: _List, start: int, end: int) -> _List:
    if not 0 <= start <= end <= len(elements):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(elements)}")
    return elements[start:end]


def _flatten(elements: _List, depth: int = 1) -> _List:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[object] = []
    spend(len(elements))
    for element in elements:
        if depth > 0 and element.__class__ is tuple:
            flat.extend(_flatten(element, depth - 1))
            spend(len(element))
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
        if not any(same(element, other) for other in unique):
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
    if keys[0].__class__ not in ORDERED:
        raise EvaluationError("list elements must be comparable")
    if any(key.__class__ is not keys[0].__class__ for key in keys):
        raise EvaluationError("list elements must have the same type")
    order = sorted(range(len(keys)), key=cmp_to_key(_by(keys)))
    return tuple(elements[i] for i in order)


def _by(keys: _List) -> Callable[[int, int], int]:
    return lambda i, j: order(keys[i], keys[j])


def _sorted(elements: _List) -> _List:
    return _sorted_by(elements, elements)


def _result_cost(result: object) -> int:
    return _CALL + size(result)


def _flatten_cost(elements: object, depth: Any = 1) -> int:
    if depth.__class__ is not int:
        raise BrokenDownError("flatten needs a number of levels")
    levels = depth if depth >= 0 else 1
    amount = size(elements) * float(levels)
    return _CALL + (int(amount) if amount < WRAP else WRAP // 2)


def _self_compared(position: int) -> RuntimeCost:
    def cost(*args: Any) -> int:
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
    if isinstance(node, Literal) and isinstance(node.value, int):
        return max(node.value, 0)
    return otherwise


def _made(cost: int, result: Size) -> tuple[int, Size]:
    return added(cost, _CALL), result


def _estimate_slice(site: CallSite) -> tuple[int, Size | None]:
    start, end = _literal(site, 1, 0), _literal(site, 2, site.size(0).high)
    count = (end - start) % 2**64
    return _made(scaled(count, 1.0), Size(count, count))


def _estimate_range(site: CallSite) -> tuple[int, Size | None]:
    count = _literal(site, 0, UNKNOWN)
    return _made(scaled(count, 1.0), Size(count, count))


def _estimate_copy(site: CallSite) -> tuple[int, Size | None]:
    return _made(scaled(site.size(0).high, 1.0), site.size(0))


def _estimate_flatten(site: CallSite) -> tuple[int, Size | None]:
    depth = _literal(site, 1, UNKNOWN) if site.count() > 1 else 1
    return _made(scaled(site.size(0).high, float(depth)), site.size(0))


def _estimate_self_compared(position: int, factor: float) -> Estimate:
    def estimate(site: CallSite) -> tuple[int, Size | None]:
        one = site.size(position)
        square = Size(multiplied(one.low, one.low), multiplied(one.high, one.high))
        return _made(scaled(square.high, factor), square)

    return estimate


def _factor(element: Type) -> float:
    return 2.0 + TRAVERSAL if element in (STRING, BYTES) else 2.0


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
        for kind in COMPARABLE
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
        for kind in COMPARABLE
    )


LIBRARY: Final = (
    Function(
        "slice",
        (
            method(
                "list_slice",
                (LIST_A, INT, INT),
                LIST_A,
                _slice,
                result_cost=_result_cost,
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
                result_cost=_result_cost,
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
                result_cost=_result_cost,
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
