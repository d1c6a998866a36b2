"""Calls: strict in their arguments, charged even where an argument or the call fails."""

from functools import lru_cache
from typing import Final

from kube_cel.checked import Resolution
from kube_cel.declarations import Function, Implementation, Overload
from kube_cel.errors import AbortedError, EvaluationError
from kube_cel.evaluation.frame import Evaluate, Failure, Frame
from kube_cel.evaluation.guards import dispatching, guarded


def implementation(resolution: Resolution) -> Implementation:
    """
    What a call runs: one overload where the checker left one, else the first that fits.

    Operators, conversions and sorting are one function for all types, so for them the first
    that fits also takes over where the checker's choice does not.
    """
    return _implementation(resolution.function, resolution.overloads)


@lru_cache(maxsize=1024)
def _implementation(function: Function, overloads: tuple[Overload, ...]) -> Implementation:
    chosen = overloads[0]
    if len(overloads) == 1 and not is_one_for_all(function.name):
        return guarded(chosen)
    fitting = dispatching(
        function.name, tuple(o for o in function.overloads if o.member is chosen.member)
    )
    return guarded(chosen, fitting) if len(overloads) == 1 else fitting


def is_one_for_all(name: str) -> bool:
    """Whether the function does not tell its overloads apart when it runs."""
    return name[0] in "_@!-" or name in _ONE_FOR_ALL


_ONE_FOR_ALL: Final = frozenset(
    (
        *("sort", "size", "bool", "bytes", "double", "duration", "dyn", "int", "string"),
        *("timestamp", "type", "uint"),
    )
)


class Callee:
    """What a call runs, and what it is charged: by its arguments, by its result, or 1."""

    __slots__ = ("by_arguments", "by_result", "implement")

    def __init__(self, resolution: Resolution, implement: Implementation) -> None:
        only = resolution.overloads[0] if len(resolution.overloads) == 1 else None
        self.implement = implement
        self.by_result = None if only is None else only.result_cost
        self.by_arguments = resolution.function.cost
        if only is not None and only.cost is not None:
            self.by_arguments = only.cost

    def cost(self, args: tuple[object, ...]) -> int:
        """What the arguments cost."""
        return 1 if self.by_arguments is None else self.by_arguments(*args)

    def call(self, frame: Frame, args: tuple[object, ...]) -> object:
        """Call and charge; a call that the limit does not allow is not even begun."""
        amount = self.cost(args)
        if frame.cost + amount > frame.limit:
            frame.charge(amount)
        result = _called(self.implement, args)
        if self.by_result is not None:
            amount = self.by_result(result)
        frame.charge(amount)
        return result


@lru_cache(maxsize=1024)
def callee_of(resolution: Resolution) -> Callee:
    """The callee of what a call means, the same each time."""
    return Callee(resolution, implementation(resolution))


def _called(implement: Implementation, args: tuple[object, ...]) -> object:
    for argument in args:
        if argument.__class__ is Failure:
            return argument
    try:
        return implement(*args)
    except EvaluationError as error:
        return failed(error)


def plan_call(callee: Callee, args: tuple[Evaluate, ...]) -> Evaluate:
    """The closure of a call."""
    match args:
        case (argument,):
            return lambda frame: callee.call(frame, (argument(frame),))
        case (left, right):
            return lambda frame: callee.call(frame, (left(frame), right(frame)))
        case _:
            return plan_variadic(callee, args)


def plan_variadic(callee: Callee, args: tuple[Evaluate, ...]) -> Evaluate:
    """A call that stops at its first failed argument, free of charge unless it is the last."""
    last = len(args) - 1

    def run(frame: Frame) -> object:
        values: list[object] = []
        for position, argument in enumerate(args):
            value = argument(frame)
            if value.__class__ is Failure and position < last:
                return value
            values.append(value)
        return callee.call(frame, tuple(values))

    return run


def plan_known(callee: Callee, args: tuple[object, ...]) -> Evaluate | None:
    """A call whose value is worked out once and charged each time, None if it fails."""
    try:
        value = callee.implement(*args)
    except EvaluationError:
        return None
    amount = callee.cost(args)

    def run(frame: Frame) -> object:
        frame.charge(amount)
        return value

    return run


def failed(error: EvaluationError) -> Failure:
    """The error as a value; one that stops the evaluation goes on instead."""
    if isinstance(error, AbortedError):
        raise error
    return Failure(error)
