"""The types of parts: the fields of an object, what a loop goes through."""

from collections.abc import Mapping

from kube_cel.errors import ExpressionFault
from kube_cel.inference import Inference
from kube_cel.syntax import Comprehension, Node
from kube_cel.types import DYN, INT, Kind, Type, is_optional, optional_of

Fields = Mapping[Type, Mapping[str, Type]]
"""The fields of each object type."""


def field_type(node: Node, operand: Type, field: str, inference: Inference, known: Fields) -> Type:
    """The type of ``operand.field``. Raises ``ExpressionFault`` at the node if there is none."""
    target = inference.resolved(operand)
    if is_optional(target):
        return optional_of(_plain_type(node, target.params[0], field, inference, known))
    return _plain_type(node, target, field, inference, known)


def optional_field_type(
    node: Node, operand: Type, field: str, inference: Inference, known: Fields
) -> Type:
    """The type of ``operand.?field``: one optional more, unless the operand is one."""
    found = field_type(node, operand, field, inference, known)
    return found if is_optional(inference.resolved(operand)) else optional_of(found)


def _plain_type(node: Node, target: Type, field: str, inference: Inference, known: Fields) -> Type:
    target = inference.resolved(target)
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
            raise ExpressionFault(node.offset, f"type '{target}' does not support field selection")


def _object_field(node: Node, target: Type, field: str, known: Fields) -> Type:
    fields = known.get(target)
    if fields is None:
        message = f"unexpected failed resolution of '{target.name}'"
        raise ExpressionFault(node.offset, message)
    if field not in fields:
        raise ExpressionFault(node.offset, f"undefined field '{field}'")
    return fields[field]


def loop_variable_types(
    node: Comprehension, range_type: Type, inference: Inference
) -> tuple[Type, Type]:
    """The types of a loop's variables. Raises ``ExpressionFault`` for what has no elements."""
    paired = node.second_variable is not None
    match range_type.kind:
        case Kind.LIST:
            element = range_type.params[0]
            return (INT, element) if paired else (element, DYN)
        case Kind.MAP:
            return range_type.params[0], range_type.params[1]
        case Kind.VARIABLE | Kind.DYN | Kind.ERROR:
            inference.assignable((DYN,), (range_type,))
            return DYN, DYN
        case _:
            raise ExpressionFault(
                node.range.offset,
                f"expression of type '{range_type}' cannot be range of a comprehension "
                "(must be list, map, or dynamic)",
            )
