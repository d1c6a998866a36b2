"""Calls of functions: which are worked out when the program is made, and how the rest run."""

from typing import Final

from kube_cel.checked import Resolution
from kube_cel.evaluation.calls import (
    Callee,
    callee_of,
    is_one_for_all,
    plan_call,
    plan_known,
    plan_variadic,
)
from kube_cel.evaluation.folds import append
from kube_cel.evaluation.frame import Evaluate
from kube_cel.evaluation.membership import plan_membership
from kube_cel.evaluation.plan import Plan, constant_plan
from kube_cel.library.regex import compiled
from kube_cel.syntax import ACCUMULATOR, Call, Ident

_FOLDED: Final = frozenset(
    {
        "bool",
        "bytes",
        "double",
        "duration",
        "dyn",
        "int",
        "string",
        "timestamp",
        "type",
        "uint",
    }
)
"""Conversions of a constant are worked out when the program is made."""
_PARSERS: Final = frozenset({"cidr", "ip", "quantity", "semver", "url"})
"""Of a constant text they give the same value each time, though each time is charged."""
_PATTERNS: Final = frozenset({"find", "findAll", "matches"})


def plan_function(node: Call, resolution: Resolution, args: tuple[Plan, ...]) -> Plan:
    """The plan of a call. Raises ``EvaluationError`` where a constant in it fails."""
    callee = callee_of(resolution)
    if node.function in _FOLDED and args[0].is_constant:
        return constant_plan(callee.implement(args[0].constant))
    if node.function == "@in" and len(resolution.overloads) == 1:
        member = plan_membership(args[0].run, args[1].constant)
        if member is not None:
            return member
    if _grows_a_list(node, resolution):
        callee = Callee(resolution, append)
    several = len(resolution.overloads) > 1 and not is_one_for_all(node.function)
    if several or node.function == "format":
        return Plan(plan_variadic(callee, tuple(arg.run for arg in args)))
    return Plan(_run(node.function, callee, args))


def _run(function: str, callee: Callee, args: tuple[Plan, ...]) -> Evaluate:
    if function in _PARSERS and all(arg.is_constant for arg in args):
        known = plan_known(callee, tuple(arg.constant for arg in args))
        if known is not None:
            return known
    runs = tuple(arg.run for arg in args)
    if function in _PATTERNS and isinstance(args[1].constant, str):
        compiled(args[1].constant)
        return plan_variadic(callee, runs)
    return plan_call(callee, runs)


def _grows_a_list(node: Call, resolution: Resolution) -> bool:
    """Whether a loop adds to its accumulator."""
    if node.function != "_+_" or not isinstance(node.args[0], Ident):
        return False
    overloads = [overload.id for overload in resolution.overloads]
    return node.args[0].name == ACCUMULATOR and overloads == ["add_list"]
