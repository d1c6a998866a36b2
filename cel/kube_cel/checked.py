"""What goes into the checker and what comes out: names with types, a tree with types."""

from collections.abc import Mapping

import msgspec

from kube_cel.declarations import Function, Overload
from kube_cel.syntax import Node
from kube_cel.types import Type


class Scope(msgspec.Struct, frozen=True):
    """What an expression may name: variables, the fields of object types, functions."""

    variables: Mapping[str, Type]
    fields: Mapping[Type, Mapping[str, Type]]
    functions: Mapping[str, Function]


class Resolution(msgspec.Struct, frozen=True, eq=False):
    """What a call means; ``qualified`` says that its target is only part of its name."""

    function: Function
    overloads: tuple[Overload, ...]
    qualified: bool = False


class Checked(msgspec.Struct, frozen=True, eq=False):
    """A tree with what the checker found out, by node number."""

    root: Node
    types: Mapping[int, Type]
    calls: Mapping[int, Resolution]
    constants: Mapping[int, str]

    def type(self, node: Node) -> Type:
        """The type of a node."""
        return self.types[node.id]
