"""What the search needs to know of a node, and whether a node selector picks it.

Only names, labels and declared features: whether a pod fits a node is decided elsewhere.
"""

from functools import lru_cache

import msgspec

from dra_shared.kube.meta import Labels, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"
"""The node feature without which `skipNodeOperations` is not honoured (KEP-5945)."""


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the search sees it."""

    name: str
    labels: Labels = msgspec.field(default_factory=dict)
    declared_features: frozenset[str] = frozenset()

    @property
    def honours_skipped_operations(self) -> bool:
        """Whether its kubelet can do without a driver (KEP-5945)."""
        return OPTIONAL_NODE_OPERATIONS in self.declared_features


@lru_cache(maxsize=16_384)
def one_node(name: str) -> NodeSelector:
    """Give the selector of exactly this node, in the one shape that the API server recognises."""
    requirement = NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(requirement,)),))


def selector_picks(selector: NodeSelector, node: NodeView) -> bool:
    """Say whether one of the selector's terms holds for the node (core/v1 NodeSelector)."""
    return any(_term_holds(term, node) for term in selector.node_selector_terms)


def _term_holds(term: NodeSelectorTerm, node: NodeView) -> bool:
    expressions, fields = term.match_expressions or (), term.match_fields or ()
    if not expressions and not fields:
        return False
    return all(_holds(test, node.labels.get(test.key)) for test in expressions) and all(
        _holds(test, node.name if test.key == "metadata.name" else None) for test in fields
    )


def _holds(test: NodeSelectorRequirement, value: str | None) -> bool:
    values = test.values or ()
    match test.operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(test.operator, value, values)
        case _:
            return False


def _compares(operator: str, value: str | None, bounds: tuple[str, ...]) -> bool:
    """Compare whole numbers; what is none does not match."""
    if value is None or len(bounds) != 1:
        return False
    try:
        number, bound = int(value), int(bounds[0])
    except ValueError:
        return False
    return number > bound if operator == "Gt" else number < bound
