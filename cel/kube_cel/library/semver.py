"""Semantic versions: parsing, order and parts."""

from typing import Final

from kube_cel.costs import estimate_traversal, first_traversed
from kube_cel.declarations import Function
from kube_cel.errors import EvaluationError
from kube_cel.library.declare import function, method
from kube_cel.types import BOOL, INT, SEMVER, STRING
from kube_cel.values.numbers import INT_MAX
from kube_cel.values.semver import Semver, normalized, parse_semver


def _semver(text: str, normalize: bool = False) -> Semver:  # noqa: FBT001, FBT002 - called with CEL's arguments
    return parse_semver(normalized(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 - called with CEL's arguments
    try:
        _semver(text, normalize)
    except EvaluationError:
        return False
    return True


def _compare(a: Semver, b: Semver) -> int:
    return (a.order > b.order) - (a.order < b.order)


def _signed(number: int) -> int:
    """Go turns an unsigned number into a signed one bit by bit."""
    return number if number <= INT_MAX else number - 2**64


_TRAVERSED: Final = estimate_traversal()
_PAIR: Final = (SEMVER, SEMVER)

LIBRARY: Final = (
    Function(
        "semver",
        (
            function("string_to_semver", (STRING,), SEMVER, _semver),
            function("string_bool_to_semver", (STRING, BOOL), SEMVER, _semver),
        ),
        cost=first_traversed,
        estimate=_TRAVERSED,
    ),
    Function(
        "isSemver",
        (
            function("is_semver_string", (STRING,), BOOL, _is_semver),
            function("is_semver_string_bool", (STRING, BOOL), BOOL, _is_semver),
        ),
        cost=first_traversed,
        estimate=_TRAVERSED,
    ),
    Function(
        "isGreaterThan",
        (method("semver_is_greater_than", _PAIR, BOOL, lambda a, b: a.order > b.order),),
    ),
    Function(
        "isLessThan",
        (method("semver_is_less_than", _PAIR, BOOL, lambda a, b: a.order < b.order),),
    ),
    Function("compareTo", (method("semver_compare_to", _PAIR, INT, _compare),)),
    *(
        Function(
            part,
            (method(f"semver_{part}", (SEMVER,), INT, lambda v, p=part: _signed(getattr(v, p))),),
        )
        for part in ("major", "minor", "patch")
    ),
)
