"""Calls: strict in their arguments, charged even where an argument or the call fails."""

from kube_cel.checked import Resolution
from kube_cel.declarations import Implementation, RuntimeCost
from kube_cel.errors import AbortedError, EvaluationError
from kube_cel.evaluation.frame import Evaluate, Failure, Frame
from kube_cel.evaluation.guards import dispatching, guarded
from kube_cel.types import Type


def implementation(resolution: Resolution, static: tuple[Type, ...]) -> Implementation:
    """What a call runs: one overload where the checker left one, else the first that fits."""
    if len(resolution.overloads) == 1:
        return guarded(resolution.overloads[0], static)
    member = resolution.overloads[0].member
    return dispatching(
        resolution.function.name,
        tuple(o for o in resolution.function.overloads if o.member is member),
    )


def runtime_cost(resolution: Resolution) -> RuntimeCost | None:
    """What a call is charged, None for 1."""
    if len(resolution.overloads) == 1 and resolution.overloads[0].cost is not None:
        return resolution.overloads[0].cost
    return resolution.function.cost


def plan_call(
    implement: Implementation, cost: RuntimeCost | None, args: tuple[Evaluate, ...]
) -> Evaluate:
    """The closure of a call."""
    match args:
        case ():
            return _nullary(implement)
        case (argument,):
            return _unary(implement, cost, argument)
        case (left, right):
            return _binary(implement, cost, left, right)
        case _:
            return plan_variadic(implement, cost, args)


def _nullary(implement: Implementation) -> Evaluate:
    def run(frame: Frame) -> object:
        frame.charge(1)
        return implement()

    return run


def _unary(implement: Implementation, cost: RuntimeCost | None, argument: Evaluate) -> Evaluate:
    def run(frame: Frame) -> object:
        value = argument(frame)
        result: object
        if value.__class__ is Failure:
            result = value
        else:
            try:
                result = implement(value)
            except EvaluationError as error:
                result = failed(error)
        frame.charge(1 if cost is None else cost(result, value))
        return result

    return run


def _binary(
    implement: Implementation, cost: RuntimeCost | None, left: Evaluate, right: Evaluate
) -> Evaluate:
    def run(frame: Frame) -> object:
        a = left(frame)
        b = right(frame)
        result: object
        if a.__class__ is Failure:
            result = a
        elif b.__class__ is Failure:
            result = b
        else:
            try:
                result = implement(a, b)
            except EvaluationError as error:
                result = failed(error)
        frame.charge(1 if cost is None else cost(result, a, b))
        return result

    return run


def plan_variadic(
    implement: Implementation, cost: RuntimeCost | None, args: tuple[Evaluate, ...]
) -> Evaluate:
    """A call that stops at its first failed argument, free of charge unless it is the last."""

    def run(frame: Frame) -> object:
        values: list[object] = []
        for argument in args:
            value = argument(frame)
            values.append(value)
            if value.__class__ is Failure:
                if len(values) == len(args):
                    frame.charge(1 if cost is None else cost(value, *values))
                return value
        try:
            result = implement(*values)
        except EvaluationError as error:
            result = failed(error)
        frame.charge(1 if cost is None else cost(result, *values))
        return result

    return run


def plan_known(
    implement: Implementation, cost: RuntimeCost | None, args: tuple[object, ...]
) -> Evaluate | None:
    """A call whose value is worked out once and charged each time, None if it fails."""
    try:
        value = implement(*args)
    except EvaluationError:
        return None
    amount = 1 if cost is None else cost(value, *args)

    def run(frame: Frame) -> object:
        frame.charge(amount)
        return value

    return run


def failed(error: EvaluationError) -> Failure:
    """The error as a value; one that stops the evaluation goes on instead."""
    if isinstance(error, AbortedError):
        raise error
    return Failure(error)
