"""Optional values. ``or`` and ``orValue`` are lazy, so the evaluator's own."""

from typing import Final

from kube_cel.declarations import Function
from kube_cel.errors import EvaluationError, NoSuchOverloadError
from kube_cel.library.declare import function, method
from kube_cel.types import BOOL, LIST_A, OPTIONAL_A, A, list_of
from kube_cel.values.maps import DomainMap
from kube_cel.values.numbers import Uint
from kube_cel.values.optional import NONE, Optional
from kube_cel.values.time import MOMENTS, Duration, Timestamp


def _of_non_zero(value: object) -> Optional:
    return NONE if _is_zero(value) else Optional(value)


def _is_zero(value: object) -> bool:
    if isinstance(value, Duration):
        return value.nanos == 0
    if isinstance(value, Timestamp):
        return value.nanos == MOMENTS[0]
    return value is None or (value.__class__ in _ZEROES and not value)


_ZEROES: Final = frozenset({bool, int, Uint, float, str, bytes, tuple, dict, DomainMap})


def _value(optional: Optional) -> object:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _lazy(*_args: object) -> object:
    raise NoSuchOverloadError


def _unwrapped(optionals: tuple[object, ...]) -> tuple[object, ...]:
    values: list[object] = []
    for optional in optionals:
        if not isinstance(optional, Optional):
            raise NoSuchOverloadError("optional.unwrap")
        if optional.present:
            values.append(optional.value)
    return tuple(values)


_OPTIONALS: Final = list_of(OPTIONAL_A)

LIBRARY: Final = (
    Function(
        "optional.unwrap",
        (function("optional_unwrap", (_OPTIONALS,), LIST_A, _unwrapped),),
    ),
    Function("unwrapOpt", (method("optional_unwrapOpt", (_OPTIONALS,), LIST_A, _unwrapped),)),
    Function("optional.of", (function("optional_of", (A,), OPTIONAL_A, Optional),)),
    Function(
        "optional.ofNonZeroValue",
        (function("optional_ofNonZeroValue", (A,), OPTIONAL_A, _of_non_zero),),
    ),
    Function("optional.none", (function("optional_none", (), OPTIONAL_A, lambda: NONE),)),
    Function("value", (method("optional_value", (OPTIONAL_A,), A, _value),)),
    Function("hasValue", (method("optional_hasValue", (OPTIONAL_A,), BOOL, lambda o: o.present),)),
    Function("or", (method("optional_or_optional", (OPTIONAL_A, OPTIONAL_A), OPTIONAL_A, _lazy),)),
    Function("orValue", (method("optional_orValue_value", (OPTIONAL_A, A), A, _lazy),)),
)
