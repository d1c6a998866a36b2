"""
The syntax tree: what the parser makes and everything after it reads.

Nodes are immutable and numbered; what a later step learns about a node (its type, the
overloads that fit it) is kept beside the tree, by number. Macros are already expanded.
"""

from typing import TypeAlias

import msgspec


class Literal(msgspec.Struct, frozen=True, gc=False):
    """A constant: null, bool, int, uint, double, string or bytes."""

    id: int
    offset: int
    value: object


class Ident(msgspec.Struct, frozen=True, gc=False):
    """A name on its own."""

    id: int
    offset: int
    name: str


class Select(msgspec.Struct, frozen=True):
    """``operand.field``, or with ``test_only`` the question whether it is there."""

    id: int
    offset: int
    operand: "Node"
    field: str
    test_only: bool = False


class Call(msgspec.Struct, frozen=True):
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


class ListLiteral(msgspec.Struct, frozen=True):
    """``[a, ?b]``; ``optional`` holds the positions of elements that may be absent."""

    id: int
    offset: int
    elements: tuple["Node", ...]
    optional: frozenset[int] = frozenset()


class Entry(msgspec.Struct, frozen=True):
    """One ``key: value`` of a map literal, ``?key: value`` if it may be absent."""

    key: "Node"
    value: "Node"
    optional: bool = False


class MapLiteral(msgspec.Struct, frozen=True):
    """``{key: value}``."""

    id: int
    offset: int
    entries: tuple[Entry, ...]


class Field(msgspec.Struct, frozen=True):
    """One ``name: value`` of a message literal, ``?name: value`` if it may be absent."""

    name: str
    value: "Node"
    optional: bool = False


class MessageLiteral(msgspec.Struct, frozen=True):
    """``Name{field: value}``."""

    id: int
    offset: int
    name: str
    fields: tuple[Field, ...]


class Comprehension(msgspec.Struct, frozen=True):
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


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, in the order in which they stand."""
    match node:
        case Select(operand=operand):
            return (operand,)
        case Call():
            return node.operands
        case ListLiteral(elements=elements):
            return elements
        case MapLiteral(entries=entries):
            return tuple(part for entry in entries for part in (entry.key, entry.value))
        case MessageLiteral(fields=fields):
            return tuple(field.value for field in fields)
        case Comprehension():
            return (node.range, node.init, node.condition, node.step, node.result)
        case Literal() | Ident():
            return ()


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
