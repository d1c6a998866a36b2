"""
The fast way: a selector as one Python expression in a loop over devices.

Only for what needs no loop of its own and can never come near the cost limit, and it counts no
cost. Whatever does not fit while it runs (a missing key, a value of another type) raises, and
the exact way is asked. So it may only answer True or False, and only what the exact way would.
"""

from collections.abc import Sequence
from typing import Any, Final

from kube_cel.answers import Answers
from kube_cel.checked import Checked
from kube_cel.device import qualified
from kube_cel.errors import EvaluationError
from kube_cel.evaluation.calls import implementation
from kube_cel.evaluation.membership import member_key
from kube_cel.projection import Path, path_of
from kube_cel.syntax import Call, Comprehension, ListLiteral, Literal, Node, Select
from kube_cel.types import BOOL, QUANTITY
from kube_cel.values.equality import equal
from kube_cel.values.quantity import Quantity

_FUNCTION: Final = """\
def answers(devices, otherwise):
    found = []
    for d in devices:
        try:
            if d.ordinary:
                found.append({code})
                continue
        except trouble:
            pass
        found.append(otherwise(d))
    return found
"""
_TROUBLE: Final = (EvaluationError, LookupError, TypeError, AttributeError, ValueError)
"""What a generated expression raises where it does not fit."""
_MAX_TEXT: Final = 2_048
_MAX_CODE: Final = 8_192
_MAX_BRACKETS: Final = 180
"""Python reads no more than 200 inside one another; counting all of them is close enough."""
_MAPS: Final = {"attributes": "d.attributes", "capacity": "d.capacity"}
_DRIVER: Final = "d.driver"
"""Always a text."""
_FIELDS: Final = {"driver": _DRIVER, "allowMultipleAllocations": "d.multiple"}
_COMPARISONS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_TEXTS: Final = {
    "starts_with_string": "{0}.startswith({1})",
    "ends_with_string": "{0}.endswith({1})",
}
"""By overload; what is no text lacks the method, which is trouble."""
_ORDERS: Final = {
    "quantity_is_greater_than": ("amount", ">"),
    "quantity_is_less_than": ("amount", "<"),
    "semver_is_greater_than": ("order", ">"),
    "semver_is_less_than": ("order", "<"),
}
"""By overload: what is compared, and how. A value of another type lacks it, which is trouble."""
_SIGNS: Final = {"quantity_compare_to": "amount", "semver_compare_to": "order"}
"""By overload: what gives the sign of the answer."""
_CHEAP: Final = frozenset(
    (
        *("quantity", "semver", "isQuantity", "isSemver", "isInteger", "asInteger", "sign"),
        *("major", "minor", "patch", "asApproximateFloat", "isGreaterThan", "isLessThan"),
        *("compareTo", "contains", "startsWith", "endsWith", "matches", "lowerAscii"),
        *("upperAscii", "trim", "substring", "charAt", "size", "type", "int", "double"),
        *("string", "bool", "_+_", "_-_", "_*_", "_/_", "_%_", "-_", *_COMPARISONS),
    )
)
"""Functions whose cost grows with the text and the device no faster than linearly."""


class UnsupportedError(Exception):
    """The expression is not one that the fast way can take."""


def generate(text: str, checked: Checked) -> Answers | None:
    """The fast way for an expression, None if it has none."""
    if len(text) > _MAX_TEXT:
        return None
    generator = _Generator(checked)
    try:
        code = generator.boolean(checked.root, {})
    except (UnsupportedError, EvaluationError):
        return None
    if len(code) > _MAX_CODE or code.count("(") > _MAX_BRACKETS:
        return None
    scope = generator.names | {"trouble": _TROUBLE}
    exec(_FUNCTION.format(code=code), scope)  # noqa: S102 - made of our own templates and constants
    answers: Answers = scope["answers"]
    return answers


class _Generator:
    """One pass over one tree; constants get names in the generated function's scope."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._variables = 0
        self.names: dict[str, Any] = {"equal": equal, "no": _no}

    def boolean(self, node: Node, bound: dict[str, Path | None]) -> str:
        """Code for a node that has to be true or false."""
        code = self.code(node, bound)
        if self._checked.type(node) == BOOL:
            return code
        name = self._variable()
        return f"({name} if ({name} := {code}) is True or {name} is False else no())"

    def code(self, node: Node, bound: dict[str, Path | None]) -> str:
        """Code for a node. Raises ``UnsupportedError`` for what has no fast way."""
        path = path_of(node, bound, strict=True)
        if path is not None and not (isinstance(node, Select) and node.test_only):
            return self._read(path)
        match node:
            case Literal(value=value):
                return self._constant(value)
            case Select(operand=operand, field=field, test_only=True):
                return self._presence(path_of(operand, bound, strict=True), field)
            case Call():
                return self._call(node, bound)
            case Comprehension() if node.is_bind:
                return self._bind(node, bound)
            case _:
                raise UnsupportedError

    def _bind(self, node: Comprehension, bound: dict[str, Path | None]) -> str:
        path = path_of(node.init, bound, strict=True)
        if path is None:
            raise UnsupportedError
        return self.code(node.result, {**bound, node.accumulator: path})

    def _call(self, node: Call, bound: dict[str, Path | None]) -> str:
        match node:
            case Call(function="_&&_" | "_||_" as function, args=args):
                word = " and " if function == "_&&_" else " or "
                return f"({word.join(self.boolean(arg, bound) for arg in args)})"
            case Call(function="!_", args=(operand,)):
                return f"(not {self.boolean(operand, bound)})"
            case Call(function="_==_" | "_!=_" as function, args=(left, right)):
                code = self._equals(left, right, bound)
                return code if function == "_==_" else f"(not {code})"
            case Call(function="@in", args=(element, container)):
                return self._contained(element, container, bound)
            case Call(function="orValue"):
                return self._or_value(node, bound)
            case Call(function="dyn", args=(operand,)):
                return self.code(operand, bound)
            case _:
                return self._function(node, bound)

    def _equals(self, left: Node, right: Node, bound: dict[str, Path | None]) -> str:
        if sign := self._sign((left, right), "==", bound):
            return sign
        a, b = self.code(left, bound), self.code(right, bound)
        if isinstance(right, Literal) and right.value.__class__ is str:
            name = self._variable()
            otherwise = f"type({name}) is not str and equal({name}, {b})"
            return f"({a} == {b})" if a == _DRIVER else f"(({name} := {a}) == {b} or {otherwise})"
        if isinstance(right, Literal) and right.value.__class__ in (int, bool):
            name, kind = self._variable(), right.value.__class__.__name__
            return f"({name} == {b} if type({name} := {a}) is {kind} else equal({name}, {b}))"
        if self._checked.type(left) == QUANTITY and isinstance(self.names.get(b), Quantity):
            return f"({a}.amount == {self._member(b, 'amount')})"
        return f"equal({a}, {b})"

    def _contained(self, element: Node, container: Node, bound: dict[str, Path | None]) -> str:
        path = path_of(container, bound, strict=True)
        if path is not None:
            if not isinstance(element, Literal) or not isinstance(element.value, str):
                raise UnsupportedError
            return self._presence(path, element.value)
        if not isinstance(container, ListLiteral) or not container.elements:
            raise UnsupportedError
        if not all(
            isinstance(each, Literal) and each.value.__class__ is str for each in container.elements
        ):
            raise UnsupportedError
        values = frozenset(each.value for each in container.elements if isinstance(each, Literal))
        members = self._name(values)
        name, key = self._variable(), self._name(member_key)
        return (
            f"({name} in {members} if type({name} := {self.code(element, bound)}) is str "
            f"else {key}({name}) in {members})"
        )

    def _or_value(self, node: Call, bound: dict[str, Path | None]) -> str:
        match node:
            case Call(
                target=Call(function="_?._" | "_[?_]", args=(base, Literal(value=str(key)))),
                args=(Literal(value=value),),
            ):
                values, name = self._leaf(path_of(base, bound, strict=True), key)
                return f"{values}.get({name}, {self._constant(value)})"
            case _:
                raise UnsupportedError

    def _function(self, node: Call, bound: dict[str, Path | None]) -> str:
        if node.function not in _CHEAP:
            raise UnsupportedError
        resolution = self._checked.calls[node.id]
        operands = node.args if resolution.qualified else node.operands
        implement = implementation(resolution)
        if all(isinstance(operand, Literal) for operand in operands):
            known = implement(*(o.value for o in operands if isinstance(o, Literal)))
            return self._name(known)
        overload = self._overload(node)
        if overload in _ORDERS:
            return self._ordered(operands, *_ORDERS[overload], bound)
        comparison = _COMPARISONS.get(node.function)
        if comparison and (sign := self._sign(operands, comparison, bound)):
            return sign
        codes = [self.code(operand, bound) for operand in operands]
        if overload in _TEXTS:
            return _TEXTS[overload].format(*codes)
        if comparison and _is_int(operands[1]):
            name = self._variable()
            return (
                f"({name} {comparison} {codes[1]} "
                f"if type({name} := {codes[0]}) is int "
                f"else {self._name(implement)}({name}, {codes[1]}))"
            )
        return f"{self._name(implement)}({', '.join(codes)})"

    def _overload(self, node: Node) -> str:
        """The one overload of a call that the checker found; empty if only the values can tell."""
        resolution = self._checked.calls.get(node.id)
        overloads = resolution.overloads if resolution is not None else ()
        return overloads[0].id if len(overloads) == 1 else ""

    def _sign(
        self, compared: Sequence[Node], sign: str, bound: dict[str, Path | None]
    ) -> str | None:
        """Code for ``a.compareTo(b) >= 0`` and its like, None for anything else."""
        match compared:
            case [Call() as call, Literal(value=0 as zero)] if zero.__class__ is int:
                member = _SIGNS.get(self._overload(call))
                return member and self._ordered(call.operands, member, sign, bound)
        return None

    def _ordered(
        self, operands: Sequence[Node], member: str, sign: str, bound: dict[str, Path | None]
    ) -> str:
        left, right = (self._member(self.code(operand, bound), member) for operand in operands)
        return f"({left} {sign} {right})"

    def _member(self, code: str, member: str) -> str:
        """Code for a member; of a constant it is known."""
        if code not in self.names:
            return f"{code}.{member}"
        try:
            return self._name(getattr(self.names[code], member))
        except AttributeError as error:
            raise UnsupportedError from error

    def _read(self, path: Path) -> str:
        match path:
            case (field,) if field in _FIELDS:
                return _FIELDS[field]
            case (*domain, key):
                values, name = self._leaf(tuple(domain), key)
                return f"{values}[{name}]"
            case _:
                raise UnsupportedError

    def _presence(self, domain: Path | None, key: str) -> str:
        values, name = self._leaf(domain, key)
        return f"({name} in {values})"

    def _leaf(self, domain: Path | None, key: str) -> tuple[str, str]:
        """Code for the map in which an attribute or capacity is, and for its key."""
        match domain:
            case (kind, name) if kind in _MAPS and "/" not in name:
                return _MAPS[kind], self._name(qualified(name, key))
            case _:
                raise UnsupportedError

    def _constant(self, value: object) -> str:
        if value is None or value.__class__ in (bool, int, str):
            return f"({value!r})"
        return self._name(value)

    def _name(self, value: object) -> str:
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"


def _is_int(node: Node) -> bool:
    return isinstance(node, Literal) and node.value.__class__ is int


def _no() -> object:
    raise TypeError
