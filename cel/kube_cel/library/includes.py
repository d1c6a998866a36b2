"""``includes``: whether an attribute, a list or a single value, holds a value."""

from typing import Any, Final

from kube_cel.declarations import CallSite, Function, Size
from kube_cel.errors import EvaluationError
from kube_cel.library.declare import method
from kube_cel.library.traversal import estimate_traversed, traversed
from kube_cel.types import BOOL, DYN
from kube_cel.values.equality import same

_LONGEST: Final = 48


def _includes(value: Any, wanted: object) -> bool:
    if value.__class__ is not tuple:
        return same(value, wanted)
    if len(value) > _LONGEST:
        raise EvaluationError(f"includes: list is longer than {_LONGEST}")
    return any(same(element, wanted) for element in value)


def _estimate(site: CallSite) -> tuple[int, Size | None]:
    if site.element_size(0) is None:
        return site.size(0).high, None
    return estimate_traversed(site)


LIBRARY: Final = (
    Function(
        "includes",
        (method("includes", (DYN, DYN), BOOL, _includes),),
        cost=traversed,
        estimate=_estimate,
        since_lists=True,
    ),
)
