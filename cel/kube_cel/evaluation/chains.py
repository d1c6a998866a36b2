"""
Chains of fields and indexes, such as ``device.attributes["d"].x``.

Each link is charged 1, also if it finds nothing; what stands behind a link that found
nothing is not. An optional link makes the rest of the chain optional.
"""

from typing import Any, Final

from kube_cel.errors import EvaluationError, NoSuchKeyError
from kube_cel.evaluation.frame import Evaluate, Failure, Frame
from kube_cel.values.maps import EMPTY, DomainMap, find_key
from kube_cel.values.numbers import Uint
from kube_cel.values.optional import ABSENT, NONE, Optional

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


class Link:
    """
    A field, or an index whose value is known.

    ``strict`` and ``lenient`` give what they find in a value, ABSENT if nothing is there, or a
    Failure. Lenient ones are charged only if something is there.
    """

    __slots__ = ("key", "optional")

    def __init__(self, key: object, *, optional: bool) -> None:
        self.key = key
        self.optional = optional

    def strict(self, frame: Frame, container: Any) -> object:
        """The link in a chain without optional ones before it."""
        frame.charge(1)
        if container.__class__ is dict and self.key.__class__ is str:
            return container.get(self.key, ABSENT)
        return _found(container, self.key)

    def lenient(self, frame: Frame, container: Any) -> object:
        """The link where it, or one before it, is optional."""
        return _if_there(frame, container, self.key)


class DynamicLink(Link):
    """An index that has to be evaluated."""

    __slots__ = ("_index",)

    def __init__(self, index: Evaluate, *, optional: bool) -> None:
        super().__init__(None, optional=optional)
        self._index = index

    def strict(self, frame: Frame, container: Any) -> object:
        """Also tells which key is missing, which only it knows."""
        key = self._index(frame)
        frame.charge(1)
        if key.__class__ is Failure:
            return key
        found = _found(container, key)
        return missing(container, key) if found is ABSENT else found

    def lenient(self, frame: Frame, container: Any) -> object:
        """See the class above."""
        key = self._index(frame)
        return key if key.__class__ is Failure else _if_there(frame, container, key)


def _found(container: Any, key: object) -> object:
    try:
        return find(container, key)
    except EvaluationError as error:
        return Failure(error)


def _if_there(frame: Frame, container: Any, key: object) -> object:
    found = _found(container, key)
    if found is not ABSENT and found.__class__ is not Failure:
        frame.charge(1)
    return found


def follow(root: Evaluate, links: tuple[Link, ...]) -> Evaluate:
    """The chain's value, from its root's."""

    def run(frame: Frame) -> object:
        value: Any = root(frame)
        kind = value.__class__
        if kind is Failure:
            return value
        if kind is Optional:
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


def _follow_optional(frame: Frame, value: Any, links: tuple[Link, ...]) -> object:
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
    found = _found(container, field)
    return found if found.__class__ is Failure else found is not ABSENT
