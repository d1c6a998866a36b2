"""
Macros: calls that the parser rewrites into loops, presence tests and names for values.

Each rewriting takes the call and gives the tree that stands for it; one entry in
``_MACROS`` per name, number of arguments and style is all that a new macro needs.
"""

from collections.abc import Callable
from typing import Final

from kube_cel.errors import ExpressionFault
from kube_cel.syntax import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    qualified_name,
)


class NodeMaker:
    """Makes numbered nodes; the numbers of one tree are small and dense."""

    def __init__(self) -> None:
        self._last = 0

    def next_id(self) -> int:
        """A number that no node has yet."""
        self._last += 1
        return self._last

    def literal(self, offset: int, value: object) -> Literal:
        """A constant."""
        return Literal(self.next_id(), offset, value)

    def ident(self, offset: int, name: str) -> Ident:
        """A name."""
        return Ident(self.next_id(), offset, name)

    def call(self, offset: int, function: str, *args: Node, target: Node | None = None) -> Call:
        """A call of a function, or of a method of the target."""
        return Call(self.next_id(), offset, function, args, target)

    def accumulator(self, offset: int) -> Ident:
        """A read of the accumulator."""
        return Ident(self.next_id(), offset, ACCUMULATOR)


Macro = Callable[[Call, NodeMaker], Node | None]


def expand(call: Call, new: NodeMaker) -> Node:
    """What the call stands for: itself, unless it is a macro."""
    macro = _MACROS.get((call.function, len(call.args), call.target is not None))
    if macro is None:
        return call
    return macro(call, new) or call


def _name(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise ExpressionFault(node.offset, message)
    return node.name


def _variables(call: Call, count: int) -> tuple[str, str | None]:
    if count == 1:
        return _name(call.args[0], "argument is not an identifier"), None
    first, second = (_name(node, "argument must be a simple name") for node in call.args[:2])
    if first == second:
        raise ExpressionFault(call.args[1].offset, f"duplicate variable name: {first}")
    return first, second


class _Loop:
    """The parts that all loops of one macro call share."""

    def __init__(self, call: Call, new: NodeMaker, variables: int) -> None:
        assert call.target is not None
        self._new = new
        self._call = call
        self.offset = call.offset
        self.first, self.second = _variables(call, variables)
        self.rest = call.args[variables:]

    def accumulator(self) -> Ident:
        return self._new.accumulator(self.offset)

    def op(self, function: str, *args: Node) -> Call:
        return self._new.call(self.offset, function, *args)

    def constant(self, value: object) -> Literal:
        return self._new.literal(self.offset, value)

    def over(self, init: Node, condition: Node, step: Node, result: Node | None = None) -> Node:
        assert self._call.target is not None
        return Comprehension(
            self._new.next_id(),
            self.offset,
            self._call.target,
            self.first,
            self.second,
            ACCUMULATOR,
            init,
            condition,
            step,
            self.accumulator() if result is None else result,
        )

    def collect(self, init: Node, step: Node, predicate: Node | None) -> Node:
        if predicate is not None:
            step = self.op("_?_:_", predicate, step, self.accumulator())
        return self.over(init, self.constant(True), step)

    def collect_list(self, element: Node, predicate: Node | None) -> Node:
        one = ListLiteral(self._new.next_id(), self.offset, (element,))
        empty = ListLiteral(self._new.next_id(), self.offset, ())
        return self.collect(empty, self.op("_+_", self.accumulator(), one), predicate)

    def collect_map(self, *inserted: Node, predicate: Node | None) -> Node:
        empty = MapLiteral(self._new.next_id(), self.offset, ())
        step = self.op("cel.@mapInsert", self.accumulator(), *inserted)
        return self.collect(empty, step, predicate)


def _all(call: Call, new: NodeMaker) -> Node:
    loop = _Loop(call, new, len(call.args) - 1)
    goes_on = loop.op("@not_strictly_false", loop.accumulator())
    step = loop.op("_&&_", loop.accumulator(), loop.rest[0])
    return loop.over(loop.constant(True), goes_on, step)


def _exists(call: Call, new: NodeMaker) -> Node:
    loop = _Loop(call, new, len(call.args) - 1)
    goes_on = loop.op("@not_strictly_false", loop.op("!_", loop.accumulator()))
    step = loop.op("_||_", loop.accumulator(), loop.rest[0])
    return loop.over(loop.constant(False), goes_on, step)


def _exists_one(call: Call, new: NodeMaker) -> Node:
    loop = _Loop(call, new, len(call.args) - 1)
    counted = loop.op("_+_", loop.accumulator(), loop.constant(1))
    step = loop.op("_?_:_", loop.rest[0], counted, loop.accumulator())
    result = loop.op("_==_", loop.accumulator(), loop.constant(1))
    return loop.over(loop.constant(0), loop.constant(True), step, result)


def _map(call: Call, new: NodeMaker) -> Node:
    loop = _Loop(call, new, 1)
    return loop.collect_list(loop.rest[-1], loop.rest[0] if len(loop.rest) > 1 else None)


def _filter(call: Call, new: NodeMaker) -> Node:
    loop = _Loop(call, new, 1)
    return loop.collect_list(new.ident(call.args[0].offset, loop.first), loop.rest[0])


def _transform_list(call: Call, new: NodeMaker) -> Node:
    loop = _Loop(call, new, 2)
    return loop.collect_list(loop.rest[-1], loop.rest[0] if len(loop.rest) > 1 else None)


def _transform_map(call: Call, new: NodeMaker) -> Node:
    loop = _Loop(call, new, 2)
    key = new.ident(call.offset, loop.first)
    predicate = loop.rest[0] if len(loop.rest) > 1 else None
    return loop.collect_map(key, loop.rest[-1], predicate=predicate)


def _transform_map_entry(call: Call, new: NodeMaker) -> Node:
    loop = _Loop(call, new, 2)
    predicate = loop.rest[0] if len(loop.rest) > 1 else None
    return loop.collect_map(loop.rest[-1], predicate=predicate)


def _has(call: Call, new: NodeMaker) -> Node:
    match call.args[0]:
        case Select(operand=operand, field=field, test_only=False):
            return Select(new.next_id(), call.offset, operand, field, test_only=True)
        case argument:
            raise ExpressionFault(argument.offset, "invalid argument to has() macro")


def _named_value(name: str, value: Node, body: Node, new: NodeMaker) -> Node:
    offset = body.offset
    return Comprehension(
        new.next_id(),
        offset,
        ListLiteral(new.next_id(), offset, ()),
        "#unused",
        None,
        name,
        value,
        new.literal(offset, value=False),
        new.ident(offset, name),
        body,
    )


def _bind(call: Call, new: NodeMaker) -> Node | None:
    if call.target is None or qualified_name(call.target) != "cel":
        return None
    message = "cel.bind() variable names must be simple identifiers"
    name = _name(call.args[0], message)
    return _named_value(name, call.args[1], call.args[2], new)


def _with_value(call: Call, new: NodeMaker) -> tuple[Node, Node, Node]:
    assert call.target is not None
    message = f"{call.function}() variable name must be a simple identifier"
    name = _name(call.args[0], message)
    present = new.call(call.offset, "hasValue", target=call.target)
    value = new.call(call.offset, "value", target=call.target)
    absent = new.call(call.offset, "optional.none")
    return present, _named_value(name, value, call.args[1], new), absent


def _opt_map(call: Call, new: NodeMaker) -> Node:
    present, mapped, absent = _with_value(call, new)
    wrapped = new.call(call.offset, "optional.of", mapped)
    return new.call(call.offset, "_?_:_", present, wrapped, absent)


def _opt_flat_map(call: Call, new: NodeMaker) -> Node:
    return new.call(call.offset, "_?_:_", *_with_value(call, new))


def _sort_by(call: Call, new: NodeMaker) -> Node | None:
    assert call.target is not None
    _name(call.args[0], "sortBy can only be called with a simple variable name")
    name = "@__sortBy_input__"
    source = new.ident(call.offset, name)
    keys = _map(Call(new.next_id(), call.offset, "map", call.args, source), new)
    again = new.ident(call.offset, name)
    by_keys = new.call(call.offset, "@sortByAssociatedKeys", keys, target=again)
    return _named_value(name, call.target, by_keys, new)


_MACROS: Final[dict[tuple[str, int, bool], Macro]] = {
    ("has", 1, False): _has,
    ("bind", 3, True): _bind,
    ("optMap", 2, True): _opt_map,
    ("optFlatMap", 2, True): _opt_flat_map,
    ("sortBy", 2, True): _sort_by,
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
    **{("all", count, True): _all for count in (2, 3)},
    **{("exists", count, True): _exists for count in (2, 3)},
    ("exists_one", 2, True): _exists_one,
    ("exists_one", 3, True): _exists_one,
    ("existsOne", 3, True): _exists_one,
}
