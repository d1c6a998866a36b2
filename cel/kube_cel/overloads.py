"""
Which overloads of a function a call can mean, and the type of what it gives.

Without type variables this depends on function and types alone: it is found once, not for each
expression.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from kube_cel.checked import Resolution
from kube_cel.declarations import Function, Overload
from kube_cel.inference import Inference, instantiated
from kube_cel.types import DYN, Kind, Type, is_ground

_VARIADIC: Final = frozenset({"logical_and", "logical_or"})
_REMEMBERED: Final = 1_024


class Meaning(NamedTuple):
    """What a call means, and the type of its result."""

    resolution: Resolution
    result: Type


class Wanted(NamedTuple):
    """A call as far as overloads can tell: as a method or not, with arguments of these types."""

    function: Function
    args: tuple[Type, ...]
    member: bool
    qualified: bool


def meaning(wanted: Wanted, inference: Inference) -> Meaning | None:
    """What a call means, None if no overload fits; what it says about variables is kept."""
    if all(map(is_ground, wanted.args)):
        known = _known(wanted)
        if known is None or is_ground(known.result):
            return known
    return _found(wanted, inference)


@lru_cache(maxsize=_REMEMBERED)
def _known(wanted: Wanted) -> Meaning | None:
    return _found(wanted, Inference())


def _found(wanted: Wanted, inference: Inference) -> Meaning | None:
    overloads: list[Overload] = []
    result: Type | None = None
    for overload in wanted.function.overloads:
        if overload.member is not wanted.member:
            continue
        matched = _match(overload, wanted.args, inference)
        if matched is None:
            continue
        overloads.append(overload)
        if result is None:
            result = matched
        elif result.kind is not Kind.DYN and matched != result:
            result = DYN
    if result is None:
        return None
    return Meaning(Resolution(wanted.function, tuple(overloads), wanted.qualified), result)


def _match(overload: Overload, args: tuple[Type, ...], inference: Inference) -> Type | None:
    """The result type if the arguments fit."""
    wanted = overload.params
    if len(wanted) != len(args):
        if overload.id not in _VARIADIC:
            return None
        wanted = wanted[:1] * len(args)
    variables: dict[Type, Type] = {}
    params = tuple(instantiated(param, variables, inference) for param in wanted)
    if not inference.assignable(args, params):
        return None
    return inference.resolved(instantiated(overload.result, variables, inference))
