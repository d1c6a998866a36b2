"""
What the checker lets pass although it can never be meant: mixed lists, bad literals.

Rules of the Kubernetes environment on top of CEL's own types.
"""

from kube_cel.checker import Checked
from kube_cel.errors import ExpressionFault
from kube_cel.syntax import Call, ListLiteral, MapLiteral, Node, children
from kube_cel.types import Type, is_optional

_MIXED_ALLOWED = frozenset({"format"})


def validate(checked: Checked) -> None:
    """Raises ``ExpressionFault`` at the first literal that breaks a rule."""
    _validate(checked, checked.root, mixed=False)


def _validate(checked: Checked, node: Node, *, mixed: bool) -> None:
    match node:
        case ListLiteral() if not mixed:
            _same_types(checked, node.elements, node.optional)
        case MapLiteral() if not mixed:
            optional = frozenset(i for i, entry in enumerate(node.entries) if entry.optional)
            _same_types(checked, tuple(e.key for e in node.entries), frozenset())
            _same_types(checked, tuple(e.value for e in node.entries), optional)
        case Call(function=function) if function in _MIXED_ALLOWED:
            mixed = True
        case _:
            pass
    for child in children(node):
        if child.id in checked.types:
            _validate(checked, child, mixed=mixed)


def _same_types(checked: Checked, nodes: tuple[Node, ...], optional: frozenset[int]) -> None:
    wanted: Type | None = None
    for position, node in enumerate(nodes):
        found = checked.type(node)
        if position in optional:
            if not is_optional(found):
                raise ExpressionFault(
                    node.offset, f"expected type 'optional_type({found})' but found '{found}'"
                )
            found = found.params[0]
        if wanted is None:
            wanted = found
        elif wanted != found:
            raise ExpressionFault(
                node.offset, f"expected type '{wanted}' but found '{found}'"
            )
