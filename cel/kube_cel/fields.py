"""The type of a field, by the type of what it is selected from."""

from collections.abc import Mapping

from kube_cel.errors import ExpressionFault
from kube_cel.inference import Inference
from kube_cel.syntax import Node
from kube_cel.types import DYN, Kind, Type, is_optional, optional_of

Fields = Mapping[Type, Mapping[str, Type]]
"""The fields of each object type."""


def field_type(node: Node, operand: Type, field: str, inference: Inference, known: Fields) -> Type:
    """The type of ``operand.field``. Raises ``ExpressionFault`` at the node if there is none."""
    target = inference.resolved(operand)
    if is_optional(target):
        inner = field_type(node, target.params[0], field, inference, known)
        return inner if is_optional(inner) else optional_of(inner)
    match target.kind:
        case Kind.MAP:
            return target.params[1]
        case Kind.OBJECT:
            return _object_field(node, target, field, known)
        case Kind.VARIABLE:
            inference.assignable((DYN,), (target,))
            return DYN
        case Kind.DYN | Kind.ANY | Kind.ERROR:
            return DYN
        case _:
            raise ExpressionFault(
                node.offset, f"type '{target}' does not support field selection"
            )


def _object_field(node: Node, target: Type, field: str, known: Fields) -> Type:
    fields = known.get(target)
    if fields is None:
        message = f"unexpected failed resolution of '{target.name}'"
        raise ExpressionFault(node.offset, message)
    if field not in fields:
        raise ExpressionFault(node.offset, f"undefined field '{field}'")
    return fields[field]
