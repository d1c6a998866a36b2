"""Loops: the comprehensions that macros expand to, and names for values."""

from collections.abc import Iterator
from typing import Any, Final

from kube_cel.errors import EvaluationError
from kube_cel.evaluation.frame import Evaluate, Failure, Frame
from kube_cel.library.operators import concatenated
from kube_cel.values.maps import key_value


class Growing(list[object]):
    """A list that a loop is still adding to; it never leaves the loop."""


class Parts:
    """The closures and variable slots of one loop."""

    __slots__ = ("accumulator", "condition", "first", "init", "range", "result", "second", "step")

    def __init__(self, closures: dict[str, Evaluate], slots: tuple[int, int, int | None]) -> None:
        self.range = closures["range"]
        self.init = closures["init"]
        self.condition = closures["condition"]
        self.step = closures["step"]
        self.result = closures["result"]
        self.accumulator, self.first, self.second = slots


def plan_fold(parts: Parts) -> Evaluate:
    """The closure of a loop."""
    accumulator, result = parts.accumulator, parts.result

    def run(frame: Frame) -> object:
        elements = parts.range(frame)
        if elements.__class__ is Failure:
            return elements
        rows = _rows(elements, paired=parts.second is not None)
        if rows is None:
            return Failure(EvaluationError("expression is not a list or map to go through"))
        variables = frame.variables
        variables[accumulator] = _growing(parts.init(frame))
        _loop(frame, parts, rows)
        grown = variables[accumulator]
        if isinstance(grown, Growing):
            variables[accumulator] = tuple(grown)
        return result(frame)

    return run


def _loop(frame: Frame, parts: Parts, rows: Iterator[Any]) -> None:
    variables, condition, step = frame.variables, parts.condition, parts.step
    accumulator, first, second = parts.accumulator, parts.first, parts.second
    for row in rows:
        frame.tick()
        if second is None:
            variables[first] = row
        else:
            variables[first], variables[second] = row
        if condition(frame) is False:
            return
        variables[accumulator] = step(frame)


def _rows(elements: object, *, paired: bool) -> Iterator[Any] | None:
    if isinstance(elements, tuple):
        return enumerate(elements) if paired else iter(elements)
    if isinstance(elements, dict):
        if paired:
            return ((key_value(key), value) for key, value in elements.items())
        return map(key_value, elements)
    return None


def _growing(value: object) -> object:
    """A container of the loop's own, since the loop changes it."""
    if isinstance(value, tuple):
        return Growing(value)
    return dict(value) if isinstance(value, dict) else value


class Unread:
    """Marks the slot of a name whose value nobody has read yet."""


UNREAD: Final = Unread()


def plan_bind(slot: int, body: Evaluate) -> Evaluate:
    """The closure of ``cel.bind``: the value is only worked out when the body reads it."""

    def run(frame: Frame) -> object:
        frame.variables[slot] = UNREAD
        return body(frame)

    return run


def read_bound(slot: int, init: Evaluate) -> Evaluate:
    """A read of a name for a value."""

    def run(frame: Frame) -> object:
        value = frame.variables[slot]
        if value is UNREAD:
            value = frame.variables[slot] = init(frame)
        return value

    return run


def read_variable(slot: int) -> Evaluate:
    """A read of a loop's variable."""
    return lambda frame: frame.variables[slot]


def append(grown: Any, added: Any) -> Any:
    """``+`` of lists, in place where the left one is still growing."""
    if grown.__class__ is Growing:
        grown.extend(added)
        return grown
    return concatenated(grown, added)
