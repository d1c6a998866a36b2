"""
Chains of fields and indexes, such as ``device.attributes["d"].x``.

Each link is charged 1, also if it finds nothing; what stands behind a link that found
nothing is not. An optional link makes the rest of the chain optional.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kube_cel.errors import EvaluationError, NoSuchKeyError
from kube_cel.evaluation.frame import Evaluate, Failure, Frame
from kube_cel.values.maps import EMPTY, DomainMap, find_key
from kube_cel.values.numbers import Uint
from kube_cel.values.optional import ABSENT, NONE, Optional

Link: TypeAlias = Callable[[Frame, Any], object]
"""Gives what it finds in a value, ABSENT if nothing is there, or a Failure."""

KEYS: Final = frozenset({str, int, Uint, bool, float})
"""Classes of the values that may stand between brackets."""
_NUMBERS: Final = frozenset({int, Uint})


def find(container: Any, key: object) -> object:
    """What stands under the key, ABSENT if nothing does. Raises for keys of a wrong kind."""
    kind = container.__class__
    if kind is dict or kind is DomainMap:
        if key.__class__ not in KEYS:
            raise EvaluationError(f"invalid qualifier type: {key.__class__.__name__}")
        found = find_key(container, key)
        return EMPTY if found is ABSENT and kind is DomainMap else found
    if kind is tuple:
        position = _position(key)
        return container[position] if 0 <= position < len(container) else ABSENT
    return ABSENT


def _position(key: Any) -> int:
    if key.__class__ in _NUMBERS:
        return int(key)
    if key.__class__ is float and key.is_integer():
        return int(key)
    raise EvaluationError(f"unsupported index type '{key.__class__.__name__}' in list")


def missing(container: object, key: object) -> Failure:
    """The error of a link that found nothing."""
    if container.__class__ is tuple:
        return Failure(EvaluationError(f"index out of bounds: {key}"))
    return Failure(NoSuchKeyError(key))


def constant_link(key: object) -> Link:
    """A field, or an index whose value is known."""

    def link(frame: Frame, container: Any) -> object:
        frame.charge(1)
        try:
            return find(container, key)
        except EvaluationError as error:
            return Failure(error)

    if key.__class__ is not str:
        return link

    def field(frame: Frame, container: Any) -> object:
        if container.__class__ is dict:
            frame.charge(1)
            return container.get(key, ABSENT)
        return link(frame, container)

    return field


def dynamic_link(index: Evaluate) -> Link:
    """An index that has to be evaluated."""

    def link(frame: Frame, container: Any) -> object:
        key = index(frame)
        frame.charge(1)
        if key.__class__ is Failure:
            return key
        try:
            found = find(container, key)
        except EvaluationError as error:
            return Failure(error)
        return missing(container, key) if found is ABSENT else found

    return link


def optional_constant_link(key: object) -> Link:
    """A field that may be absent: charged only if it is there."""

    def link(frame: Frame, container: Any) -> object:
        try:
            found = find(container, key)
        except EvaluationError as error:
            return Failure(error)
        if found is not ABSENT:
            frame.charge(1)
        return found

    return link


def optional_dynamic_link(index: Evaluate) -> Link:
    """An index that has to be evaluated and may find nothing."""

    def link(frame: Frame, container: Any) -> object:
        key = index(frame)
        if key.__class__ is Failure:
            return key
        try:
            found = find(container, key)
        except EvaluationError as error:
            return Failure(error)
        if found is not ABSENT:
            frame.charge(1)
        return found

    return link


class LinkPair:
    """One link in its two forms: ``strict`` must find something, ``lenient`` may not."""

    __slots__ = ("key", "lenient", "optional", "strict")

    def __init__(self, key: object, strict: Link, lenient: Link, *, optional: bool) -> None:
        self.key = key
        self.strict = strict
        self.lenient = lenient
        self.optional = optional


def follow(links: tuple[LinkPair, ...]) -> Callable[[Frame, Any], object]:
    """A function from the root's value to the chain's value."""

    def run(frame: Frame, value: Any) -> object:
        if value.__class__ is Optional:
            return _follow_optional(frame, value, links)
        for position, link in enumerate(links):
            if link.optional:
                return _follow_optional(frame, value, links[position:])
            found = link.strict(frame, value)
            if found is ABSENT:
                return missing(value, link.key)
            if found.__class__ is Failure:
                return found
            value = found
        return value

    return run


def _follow_optional(frame: Frame, value: Any, links: tuple[LinkPair, ...]) -> object:
    """The rest of a chain from its first optional link, or from a root that is optional."""
    if isinstance(value, Optional):
        if not value.present:
            return value
        value = value.value
    for link in links:
        value = link.lenient(frame, value)
        if value is ABSENT:
            return NONE
        if value.__class__ is Failure:
            return value
    return Optional(value)


def test(container: Any, field: str) -> object:
    """Whether a field is there, or a Failure."""
    if container.__class__ is Optional:
        if not container.present:
            return False
        container = container.value
    try:
        return find(container, field) is not ABSENT
    except EvaluationError as error:
        return Failure(error)
