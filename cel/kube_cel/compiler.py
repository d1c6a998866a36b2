"""The way from text to program: parse, check, validate, plan."""

from kube_cel.checked import Checked, Scope
from kube_cel.checker import check
from kube_cel.errors import CompileError, CompileErrorKind, EvaluationError, ExpressionFault
from kube_cel.evaluation.planner import Planner
from kube_cel.parser import parse
from kube_cel.program import Program
from kube_cel.types import BOOL, Kind, Type
from kube_cel.validation import validate


def compile_program(text: str, scope: Scope, *, any_result: bool, dyn_result: bool) -> Program:
    """The program of an expression. Raises ``CompileError``."""
    try:
        checked = check(parse(text), scope)
        validate(checked)
    except ExpressionFault as fault:
        message = f"compilation failed: ERROR: {_place(text, fault.offset)}: {fault.message}"
        raise CompileError(CompileErrorKind.RULE_INVALID, message) from fault
    result = checked.type(checked.root)
    if not any_result and not _may_be_bool(result, dyn=dyn_result):
        message = f"must evaluate to bool or the unknown type, not {result}"
        raise CompileError(CompileErrorKind.RULE_INVALID, message)
    return _planned(text, checked)


def _planned(text: str, checked: Checked) -> Program:
    planner = Planner(checked)
    try:
        plan = planner.plan(checked.root)
    except EvaluationError as error:
        message = f"program instantiation failed: {error.message}"
        raise CompileError(CompileErrorKind.INTERNAL, message) from error
    return Program(text, checked, plan.run, planner.slots)


def _may_be_bool(result: Type, *, dyn: bool) -> bool:
    return result == BOOL or result.kind is Kind.ANY or (dyn and result.kind is Kind.DYN)


def _place(text: str, offset: int) -> str:
    if offset < 0:
        return "<input>:-1:0"
    before = text[:offset]
    return f"<input>:{before.count(chr(10)) + 1}:{offset - before.rfind(chr(10))}"
