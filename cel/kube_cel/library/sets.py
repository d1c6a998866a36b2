"""Lists looked at as sets."""

from typing import Any, Final

from kube_cel.declarations import CallSite, Estimate, Function, RuntimeCost, Size
from kube_cel.library.declare import function
from kube_cel.saturating import added, multiplied, scaled
from kube_cel.types import BOOL, LIST_A
from kube_cel.values.equality import same, size

_Set = tuple[Any, ...]


def _holds(elements: _Set, wanted: object) -> bool:
    return any(same(element, wanted) for element in elements)


def _contains(elements: _Set, wanted: _Set) -> bool:
    return all(_holds(elements, each) for each in wanted)


def _intersects(a: _Set, b: _Set) -> bool:
    return any(_holds(b, each) for each in a)


def _equivalent(a: _Set, b: _Set) -> bool:
    return _contains(a, b) and _contains(b, a)


def _cost(factor: int) -> RuntimeCost:
    return lambda a, b: 1 + factor * size(a) * size(b)


def _estimate(factor: int) -> Estimate:
    def estimate(site: CallSite) -> tuple[int, Size | None]:
        pairs = multiplied(site.size(0).high, site.size(1).high)
        return added(scaled(pairs, float(factor)), 1), None

    return estimate


LIBRARY: Final = tuple(
    Function(
        f"sets.{name}",
        (
            function(
                f"list_sets_{name}_list",
                (LIST_A, LIST_A),
                BOOL,
                call,
                cost=_cost(factor),
                estimate=_estimate(factor),
            ),
        ),
    )
    for name, call, factor in (
        ("contains", _contains, 1),
        ("intersects", _intersects, 1),
        ("equivalent", _equivalent, 2),
    )
)
