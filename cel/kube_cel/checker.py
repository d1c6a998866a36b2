"""
Works out the type of every node and which overloads each call can mean.

Follows cel-go's checker: the first fault ends it. Literals that can never work and the
type of the whole expression are checked in ``validation``.
"""

from typing import Final

from kube_cel.checked import Checked, Resolution, Scope
from kube_cel.declarations import Function
from kube_cel.errors import ExpressionFault
from kube_cel.faults import field_mismatch, mismatch, no_overload, undeclared
from kube_cel.inference import Inference, less_specific
from kube_cel.messages import ENUM_VALUES, MESSAGES
from kube_cel.overloads import Wanted, meaning
from kube_cel.parts import field_type, loop_variable_types, optional_field_type
from kube_cel.syntax import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Node,
    Select,
    qualified_name,
)
from kube_cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NAMED_TYPES,
    NULL,
    STRING,
    UINT,
    Type,
    is_ground,
    is_optional,
    list_of,
    map_of,
    type_of,
    weight,
)
from kube_cel.values.numbers import Uint

_LITERALS: Final[dict[type, Type]] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}


def check(root: Node, scope: Scope) -> Checked:
    """The tree with its types. Raises ``ExpressionFault`` where they do not fit."""
    checker = Checker(scope)
    checker.check(root)
    types = checker.types
    if not all(map(is_ground, types.values())):
        resolve = checker.inference.resolved
        types = {number: resolve(type_, rest_dyn=True) for number, type_ in types.items()}
    return Checked(root, types, checker.calls, checker.constants)


class Checker:
    """One pass over one tree."""

    def __init__(self, scope: Scope) -> None:
        self.inference = Inference()
        self.types: dict[int, Type] = {}
        self.calls: dict[int, Resolution] = {}
        self.constants: dict[int, str] = {}
        self._scope = scope
        self._locals: dict[str, list[Type]] = {}

    def check(self, node: Node) -> Type:
        """
        The type of a node, noted for it and for everything below.

        A macro may use one tree twice, so what is known is not worked out again.
        """
        known = self.types.get(node.id)
        if known is not None:
            return known
        found = self.types[node.id] = self._type(node)
        return found

    def _type(self, node: Node) -> Type:
        match node:
            case Call():
                return self._call(node)
            case Literal():
                return _LITERALS[node.value.__class__]
            case Ident() | Select():
                return (
                    self._ident(node, node.name) if isinstance(node, Ident) else self._select(node)
                )
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case MessageLiteral():
                return self._message(node)
            case Comprehension():
                return self._comprehension(node)

    def _ident(self, node: Node, name: str) -> Type:
        found = self._named(node, name)
        if found is None:
            raise undeclared(node, name)
        return found

    def _named(self, node: Node, name: str) -> Type | None:
        hidden = self._locals.get(name)
        if hidden:
            return hidden[-1]
        name = name.lstrip(".")
        named = NAMED_TYPES.get(name)
        if named is None and name in MESSAGES:
            named = MESSAGES[name].result
        if named is None:
            return self._scope.variables.get(name)
        self.constants[node.id] = name
        return type_of(named)

    def _select(self, node: Select) -> Type:
        name = (qualified_name(node) or "").lstrip(".")
        if name in NAMED_TYPES or name in MESSAGES:
            return self._ident(node, name)
        if name in ENUM_VALUES:
            self.constants[node.id] = name
            return INT
        operand = self.check(node.operand)
        found = field_type(node, operand, node.field, self.inference, self._scope.fields)
        return BOOL if node.test_only else found

    def _message(self, node: MessageLiteral) -> Type:
        message = MESSAGES.get(node.name.lstrip("."))
        if message is None:
            raise undeclared(node, node.name)
        for field in node.fields:
            given = self.check(field.value)
            if field.optional:
                given = self._unwrapped(field.value, given)
            wanted = message.fields.get(field.name)
            if wanted is None:
                raise ExpressionFault(field.value.offset, f"undefined field '{field.name}'")
            if not self.inference.assignable((given,), (wanted,)):
                raise field_mismatch(field.value, field.name, wanted, given)
        return message.result

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            return self._optional_select(node)
        args = tuple(self.check(arg) for arg in node.args)
        if node.target is None:
            return self._resolve(node, self._function(node, node.function), args)
        prefix = qualified_name(node.target)
        if prefix is not None:
            function = self._scope.functions.get(f"{prefix}.{node.function}".lstrip("."))
            if function is not None:
                return self._resolve(node, function, args, qualified=True)
        target = self.check(node.target)
        return self._resolve(node, self._function(node, node.function), (target, *args))

    def _optional_select(self, node: Call) -> Type:
        operand, field = node.args
        if not isinstance(field, Literal) or not isinstance(field.value, str):
            raise ExpressionFault(field.offset, "unsupported optional field selection")
        self.types[field.id] = STRING
        target = self.check(operand)
        function = self._scope.functions["_?._"]
        self.calls[node.id] = Resolution(function, function.overloads)
        known = self._scope.fields
        return optional_field_type(node, target, field.value, self.inference, known)

    def _function(self, node: Call, name: str) -> Function:
        function = self._scope.functions.get(name.lstrip("."))
        if function is None:
            raise undeclared(node, name)
        return function

    def _resolve(
        self, node: Call, function: Function, args: tuple[Type, ...], *, qualified: bool = False
    ) -> Type:
        member = node.target is not None and not qualified
        found = meaning(Wanted(function, args, member, qualified), self.inference)
        if found is None:
            shown = [self.inference.resolved(arg, rest_dyn=True) for arg in args]
            raise no_overload(node, function.name, shown, member=member)
        self.calls[node.id] = found.resolution
        return found.result

    def _list(self, node: ListLiteral) -> Type:
        element: Type | None = None
        for position, item in enumerate(node.elements):
            found = self.check(item)
            if position in node.optional:
                found = self._unwrapped(item, found)
            element = self._joined(element, found)
        return list_of(self.inference.fresh() if element is None else element)

    def _map(self, node: MapLiteral) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self._joined(key, self.check(entry.key))
            given = self.check(entry.value)
            if entry.optional:
                given = self._unwrapped(entry.value, given)
            value = self._joined(value, given)
        fresh = self.inference.fresh
        found = map_of(key or fresh(), value or fresh())
        if weight(found) > _MAX_WEIGHT:
            raise ExpressionFault(node.offset, "the type of this map is too large")
        return found

    def _unwrapped(self, node: Node, type_: Type) -> Type:
        found = self.inference.resolved(type_)
        if is_optional(found):
            return found.params[0]
        raise mismatch(node, f"optional_type({found})", found)

    def _joined(self, before: Type | None, now: Type) -> Type:
        if before is None:
            return now
        if not self.inference.assignable((before,), (now,)):
            return DYN
        return before if less_specific(before, now) else now

    def _comprehension(self, node: Comprehension) -> Type:
        range_type = self.inference.resolved(self.check(node.range))
        accumulated = self.check(node.init)
        first, second = loop_variable_types(node, range_type, self.inference)
        self._enter(node.accumulator, accumulated)
        self._enter(node.variable, first)
        if node.second_variable is not None:
            self._enter(node.second_variable, second)
        self.check(node.condition)
        self._expect(node.condition, BOOL)
        self.check(node.step)
        self._expect(node.step, accumulated)
        if node.second_variable is not None:
            self._leave(node.second_variable)
        self._leave(node.variable)
        result = self.check(node.result)
        self._leave(node.accumulator)
        return self.inference.resolved(result)

    def _expect(self, node: Node, wanted: Type) -> None:
        found = self.types[node.id]
        if not self.inference.assignable((wanted,), (found,)):
            shown = self.inference.resolved
            raise mismatch(node, shown(wanted), shown(found, rest_dyn=True))

    def _enter(self, name: str, type_: Type) -> None:
        self._locals.setdefault(name, []).append(type_)

    def _leave(self, name: str) -> None:
        self._locals[name].pop()


_MAX_WEIGHT: Final = 1_000
"""Maps of maps to maps double their type with each level; no one means that."""
