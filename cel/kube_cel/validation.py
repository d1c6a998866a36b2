"""
What the checker lets pass although it can never be meant: mixed lists, bad literals.

Rules of the Kubernetes environment on top of CEL's own types.
"""

from collections.abc import Callable
from typing import Any, Final

from kube_cel.checked import Checked
from kube_cel.errors import EvaluationError, ExpressionFault, NoSuchOverloadError
from kube_cel.faults import mismatch
from kube_cel.format_clauses import ACCEPTED, Clause, clauses, refusal
from kube_cel.library.regex import compiled
from kube_cel.syntax import Call, ListLiteral, Literal, MapLiteral, Node
from kube_cel.types import Kind, Type, is_optional
from kube_cel.values.time import SECOND, Timestamp, parse_duration, parse_timestamp


def validate(checked: Checked) -> None:
    """Raises ``ExpressionFault`` at the first literal that breaks a rule."""
    _validate(checked, checked.root, set(), mixed=False)


def _validate(checked: Checked, node: Node, seen: set[int], *, mixed: bool) -> None:
    seen.add(node.id)
    if isinstance(node, Call):
        rule = _RULES.get(node.function)
        if rule is not None:
            rule(checked, node)
        mixed = mixed or node.function == "format"
    elif not mixed:
        _validate_literal(checked, node)
    for child in node.children:
        if child.children and child.id not in seen and child.id in checked.types:
            _validate(checked, child, seen, mixed=mixed)


def _validate_literal(checked: Checked, node: Node) -> None:
    match node:
        case ListLiteral():
            _same_types(checked, node.elements, node.optional)
        case MapLiteral():
            optional = frozenset(i for i, entry in enumerate(node.entries) if entry.optional)
            _same_types(checked, tuple(e.key for e in node.entries), frozenset())
            _same_types(checked, tuple(e.value for e in node.entries), optional)
        case _:
            pass


def _same_types(checked: Checked, nodes: tuple[Node, ...], optional: frozenset[int]) -> None:
    wanted: Type | None = None
    for position, node in enumerate(nodes):
        found = checked.type(node)
        if position in optional:
            if not is_optional(found):
                raise mismatch(node, f"optional_type({found})", found)
            found = found.params[0]
        if wanted is None:
            wanted = found
        elif wanted != found:
            raise mismatch(node, wanted, found)


def _timestamp(value: str | int) -> Timestamp:
    return parse_timestamp(value) if isinstance(value, str) else Timestamp(value * SECOND)


def _parsable(node: Node, parse: Callable[[Any], object], function: str) -> None:
    """A literal argument must be one that the function takes; null is none."""
    if not isinstance(node, Literal):
        return
    try:
        if node.value is None:
            raise NoSuchOverloadError
        parse(node.value)
    except EvaluationError:
        raise ExpressionFault(node.offset, f"invalid {function} argument") from None


def _first_parsable(_checked: Checked, call: Call) -> None:
    parse, wants_no_target = _PARSES[call.function]
    if call.target is None or not wants_no_target:
        _parsable(call.args[0], parse, call.function)


def _formattable(checked: Checked, call: Call) -> None:
    """Clauses of a literal text must fit the elements of a literal list."""
    text, arguments = call.operands[0], call.args[0]
    if not isinstance(text, Literal) or not isinstance(arguments, ListLiteral):
        return
    try:
        parts = tuple(clauses(str(text.value), len(arguments.elements)))
        wanted = [part for part in parts if isinstance(part, Clause)]
        for clause, argument in zip(wanted, arguments.elements, strict=False):
            _fits(checked, clause, argument)
    except EvaluationError as error:
        raise ExpressionFault(call.offset, error.message) from None
    if len(wanted) < len(arguments.elements):
        raise ExpressionFault(
            call.offset,
            f"too many arguments supplied to string.format (expected {len(wanted)}, "
            f"got {len(arguments.elements)})",
        )


def _fits(checked: Checked, clause: Clause, argument: Node) -> None:
    found = checked.type(argument)
    if found.kind is not Kind.DYN and found.name not in ACCEPTED[clause.letter]:
        raise refusal(clause, found.name)
    if clause.letter == "s" and isinstance(argument, ListLiteral | MapLiteral):
        for part in argument.children:
            _fits(checked, clause, part)


_PARSES: Final[dict[str, tuple[Callable[[Any], object], bool]]] = {
    "matches": (compiled, False),
    "duration": (parse_duration, True),
    "timestamp": (_timestamp, True),
}
"""How the first argument of a call is read, and whether only of one without a target."""
_RULES: Final[dict[str, Callable[[Checked, Call], None]]] = {
    "format": _formattable,
    **dict.fromkeys(_PARSES, _first_parsable),
}
"""What is checked of a call, by its function."""
