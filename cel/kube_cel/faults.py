"""What the checker says when types do not fit, in the words of Kubernetes' own."""

from kube_cel.errors import ExpressionFault
from kube_cel.syntax import Node
from kube_cel.types import Type


def undeclared(node: Node, name: str) -> ExpressionFault:
    """A name that stands for nothing."""
    return ExpressionFault(node.offset, f"undeclared reference to '{name}' (in container '')")


def no_overload(node: Node, name: str, args: list[Type], *, member: bool) -> ExpressionFault:
    """A function that takes no such arguments; of a method the first is its target."""
    shown = list(map(str, args))
    applied = f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"
    message = f"found no matching overload for '{name}' applied to '{applied}'"
    return ExpressionFault(node.offset, message)


def mismatch(node: Node, wanted: Type | str, found: Type) -> ExpressionFault:
    """A value of another type than its place wants."""
    return ExpressionFault(node.offset, f"expected type '{wanted}' but found '{found}'")


def field_mismatch(node: Node, field: str, wanted: Type, found: Type) -> ExpressionFault:
    """A value of another type than the field of a message wants."""
    message = f"expected type of field '{field}' is '{wanted}' but provided type is '{found}'"
    return ExpressionFault(node.offset, message)
