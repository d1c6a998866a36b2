"""
The syntax tree: what the parser makes and everything after it reads.

Nodes are immutable and numbered, and ``children`` are those directly below, in the order in
which they stand; what a later step learns about a node (its type, the overloads that fit it)
is kept beside the tree, by number. Macros are already expanded.

A tree holds no cycles, so the garbage collector need not look at it (``gc=False``): thousands
of programs are kept.
"""

from typing import TypeAlias

import msgspec


class Literal(msgspec.Struct, frozen=True, gc=False):
    """A constant: null, bool, int, uint, double, string or bytes."""

    id: int
    offset: int
    value: object

    @property
    def children(self) -> tuple["Node", ...]:
        """No node is below."""
        return ()


class Ident(msgspec.Struct, frozen=True, gc=False):
    """A name on its own."""

    id: int
    offset: int
    name: str

    @property
    def children(self) -> tuple["Node", ...]:
        """No node is below."""
        return ()


class Select(msgspec.Struct, frozen=True, gc=False):
    """``operand.field``, or with ``test_only`` the question whether it is there."""

    id: int
    offset: int
    operand: "Node"
    field: str
    test_only: bool = False

    @property
    def children(self) -> tuple["Node", ...]:
        """The operand."""
        return (self.operand,)


class Call(msgspec.Struct, frozen=True, gc=False):
    """A function, method or operator applied to arguments; ``&&`` and ``||`` take many."""

    id: int
    offset: int
    function: str
    args: tuple["Node", ...]
    target: "Node | None" = None

    @property
    def operands(self) -> tuple["Node", ...]:
        """The target, where there is one, and the arguments."""
        return self.args if self.target is None else (self.target, *self.args)

    @property
    def children(self) -> tuple["Node", ...]:
        """The operands."""
        return self.operands


class ListLiteral(msgspec.Struct, frozen=True, gc=False):
    """``[a, ?b]``; ``optional`` holds the positions of elements that may be absent."""

    id: int
    offset: int
    elements: tuple["Node", ...]
    optional: frozenset[int] = frozenset()

    @property
    def children(self) -> tuple["Node", ...]:
        """The elements."""
        return self.elements


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One ``key: value`` of a map literal, ``?key: value`` if it may be absent."""

    key: "Node"
    value: "Node"
    optional: bool = False


class MapLiteral(msgspec.Struct, frozen=True, gc=False):
    """``{key: value}``."""

    id: int
    offset: int
    entries: tuple[Entry, ...]

    @property
    def children(self) -> tuple["Node", ...]:
        """Keys and values in turn."""
        return tuple(part for entry in self.entries for part in (entry.key, entry.value))


class Field(msgspec.Struct, frozen=True, gc=False):
    """One ``name: value`` of a message literal, ``?name: value`` if it may be absent."""

    name: str
    value: "Node"
    optional: bool = False


class MessageLiteral(msgspec.Struct, frozen=True, gc=False):
    """``Name{field: value}``."""

    id: int
    offset: int
    name: str
    fields: tuple[Field, ...]

    @property
    def children(self) -> tuple["Node", ...]:
        """The values of the fields."""
        return tuple(field.value for field in self.fields)


class Comprehension(msgspec.Struct, frozen=True, gc=False):
    """
    A loop: the accumulator starts as ``init``, ``step`` renews it for each element.

    A ``cel.bind`` is one over an empty list whose condition is false: its result reads the
    accumulator, which is only worked out when it is read.
    """

    id: int
    offset: int
    range: "Node"
    variable: str
    second_variable: str | None
    accumulator: str
    init: "Node"
    condition: "Node"
    step: "Node"
    result: "Node"

    @property
    def children(self) -> tuple["Node", ...]:
        """All parts."""
        return (self.range, self.init, self.condition, self.step, self.result)

    @property
    def is_bind(self) -> bool:
        """Whether this is only a name for a value."""
        return (
            isinstance(self.range, ListLiteral)
            and not self.range.elements
            and isinstance(self.condition, Literal)
            and self.condition.value is False
            and self.accumulator != ACCUMULATOR
        )


Node: TypeAlias = (
    Literal | Ident | Select | Call | ListLiteral | MapLiteral | MessageLiteral | Comprehension
)

ACCUMULATOR = "@result"
"""The accumulator of macros: not a name that an expression can write."""


def qualified_name(node: Node) -> str | None:
    """``a.b.c`` for a chain of plain names, else None."""
    match node:
        case Ident(name=name):
            return name
        case Select(operand=operand, field=field, test_only=False):
            prefix = qualified_name(operand)
            return None if prefix is None else f"{prefix}.{field}"
        case _:
            return None
