"""Checks at run time that an argument has the type an overload wants."""

from collections.abc import Callable
from types import NoneType
from typing import Any, Final

from kube_cel.declarations import Implementation, Overload
from kube_cel.errors import NoSuchOverloadError
from kube_cel.evaluation.frame import Failure
from kube_cel.types import Kind, Type
from kube_cel.values.maps import DomainMap, key_value
from kube_cel.values.typenames import CLASS_NAMES

Predicate = Callable[[Any], bool]

_CLASSES: Final = {name: class_ for class_, name in CLASS_NAMES.items() if class_ is not DomainMap}


def predicate(wanted: Type) -> Predicate | None:
    """The check for a type, None if every value passes."""
    match wanted.kind:
        case Kind.DYN | Kind.ANY | Kind.VARIABLE | Kind.ERROR:
            return None
        case Kind.LIST:
            element = wanted.params[0]
            return _list_check(None if element.kind is Kind.LIST else predicate(element))
        case Kind.MAP:
            return _map_check(*map(predicate, wanted.params))
        case Kind.TYPE:
            return _class_check(_CLASSES["type"])
        case Kind.NULL:
            return _class_check(NoneType)
        case _:
            return _class_check(_CLASSES.get(wanted.name, Failure))


def _class_check(class_: type) -> Predicate:
    return lambda value: value.__class__ is class_


def _list_check(element: Predicate | None) -> Predicate:
    """Like cel-go, look at the first element only."""
    if element is None:
        return lambda value: isinstance(value, (tuple, list))
    return lambda value: isinstance(value, (tuple, list)) and (not value or element(value[0]))


def _map_check(key: Predicate | None, value: Predicate | None) -> Predicate:
    def check(candidate: Any) -> bool:
        if not isinstance(candidate, dict):
            return False
        for first in candidate:
            if key is not None and not key(key_value(first)):
                return False
            return value is None or value(candidate[first])
        return True

    return check


def guarded(overload: Overload, otherwise: Implementation | None = None) -> Implementation:
    """
    The implementation, behind checks of its arguments; what they refuse goes to ``otherwise``.

    The checker's word is not enough: null passes for any object, and what is learned of a
    type variable from a value of unknown type may be wrong.
    """
    refuse = _refuse if otherwise is None else otherwise
    checks = [
        (position, check)
        for position, wanted in enumerate(overload.params)
        if (check := predicate(wanted)) is not None
    ]
    call = overload.call
    match checks:
        case []:
            return call
        case [(0, only)] if len(overload.params) == 1:
            return _guarded_unary(call, only, refuse)
        case _:
            return _guarded(call, checks, refuse)


def _refuse(*_args: object) -> object:
    raise NoSuchOverloadError


def _guarded_unary(
    call: Implementation, check: Predicate, refuse: Implementation
) -> Implementation:
    return lambda value: call(value) if check(value) else refuse(value)


def _guarded(
    call: Implementation, checks: list[tuple[int, Predicate]], refuse: Implementation
) -> Implementation:
    def checked(*args: object) -> object:
        for position, check in checks:
            if not check(args[position]):
                return refuse(*args)
        return call(*args)

    return checked


def dispatching(name: str, overloads: tuple[Overload, ...]) -> Implementation:
    """An implementation that takes the first overload that fits the arguments."""
    rows = [(tuple(map(predicate, overload.params)), overload.call) for overload in overloads]

    def dispatch(*args: object) -> object:
        for checks, call in rows:
            if len(checks) == len(args) and all(
                check is None or check(arg) for check, arg in zip(checks, args, strict=True)
            ):
                return call(*args)
        raise NoSuchOverloadError(name)

    return dispatch
