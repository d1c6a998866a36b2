"""How long the chains of a tree are: the other limit of Kubernetes' parser, beside nesting."""

from typing import Final

from kube_cel.errors import ExpressionFault
from kube_cel.syntax import Node

MAX_DEPTH: Final = 250


class Depths:
    """
    How many operators and members are chained around the deepest part of each node.

    Both methods note a node, whose children must be noted before, and give it back. They raise
    ``ExpressionFault`` for a chain that is too long.
    """

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    @property
    def deepest(self) -> int:
        """The longest chain of all."""
        return max(self._known.values(), default=0)

    def chained(self, node: Node, expanded: Node | None = None) -> Node:
        """A node that is a link of a chain, or what it was expanded to."""
        return self._noted(expanded or node, 1 + self._below(node))

    def joined(self, node: Node, expanded: Node | None = None) -> Node:
        """A node that is none, or what it was expanded to."""
        return self._noted(expanded or node, self._below(node))

    def _below(self, node: Node) -> int:
        known = self._known
        return max([known.get(part.id, 0) for part in node.children], default=0)

    def _noted(self, node: Node, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise ExpressionFault(-1, "max recursion depth exceeded")
        if depth:
            self._known[node.id] = depth
        return node
