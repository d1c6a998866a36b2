"""Lists: the functions that Kubernetes adds. CEL's own extension is in ``lists_ext``."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from kube_cel.declarations import Function, Overload
from kube_cel.errors import EvaluationError, NoSuchOverloadError
from kube_cel.library.declare import method
from kube_cel.library.traversal import estimate_traversed, traversed
from kube_cel.types import BOOL, COMPARABLE, DOUBLE, DURATION, INT, LIST_A, UINT, A, Type, list_of
from kube_cel.values.equality import order, same
from kube_cel.values.numbers import Uint, checked_int, checked_uint
from kube_cel.values.time import Duration

_List = tuple[Any, ...]


def _is_sorted(elements: _List) -> bool:
    return all(order(a, b) <= 0 for a, b in pairwise(elements))


def _extreme(name: str, sign: int) -> Callable[[_List], object]:
    def call(elements: _List) -> object:
        if not elements:
            raise EvaluationError(f"{name} called on empty list")
        best = elements[0]
        for element in elements[1:]:
            if order(best, element) == sign:
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


def _index_of(elements: _List, wanted: object) -> int:
    return next((i for i, element in enumerate(elements) if same(element, wanted)), -1)


def _last_index_of(elements: _List, wanted: object) -> int:
    found = _index_of(elements[::-1], wanted)
    return -1 if found < 0 else len(elements) - 1 - found


def _each(name: str, call: Callable[..., object], result: Type | None = None) -> list[Overload]:
    """One method for lists of each comparable type."""
    return [
        method(f"list_{kind.name}_{name}", (list_of(kind),), result or kind, call)
        for kind in COMPARABLE
    ]


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
)
