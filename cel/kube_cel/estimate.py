"""
The worst case of an expression's cost, as the API server computes it on admission.

Follows cel-go's estimator: sizes of values are known from literals, from what a device's
parts may hold, and from what calls make of them; what is not known counts as the largest
number there is. The estimate is no upper bound of the run-time cost, there or here.
"""

from typing import Final

import msgspec

from kube_cel.checked import Checked, Resolution
from kube_cel.costs import estimate_one
from kube_cel.declarations import Estimate, Overload, Size
from kube_cel.declared_sizes import declared_size
from kube_cel.saturating import added, multiplied
from kube_cel.sizes import ANY_SIZE, ONE, Contents, Local, Path, is_scalar, literal_size, union
from kube_cel.syntax import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Node,
    Select,
)
from kube_cel.types import Kind, Type

_LIST_COST: Final = 10
_MAP_COST: Final = 30
_MESSAGE_COST: Final = 40


class Site(msgspec.Struct, frozen=True):
    """One call, as the estimate of its function sees it."""

    estimator: "Estimator"
    nodes: tuple[Node, ...]

    def size(self, position: int) -> Size:
        """The size of an argument."""
        return self.known_size(position) or ANY_SIZE

    def known_size(self, position: int) -> Size | None:
        """The size of an argument, None if nothing is known of it."""
        return self.estimator.size(self.nodes[position])

    def element_size(self, position: int) -> Size | None:
        """The declared size of the elements, None for a value that has no type of them."""
        if not self.type(position).params:
            return None
        path = self.estimator.path(self.nodes[position])
        declared = declared_size((*path, "@items")) if path else None
        return ANY_SIZE if declared is None else Size(0, declared)

    def type(self, position: int) -> Type:
        """The type of an argument."""
        return self.estimator.checked.type(self.nodes[position])

    def node(self, position: int) -> Node:
        """The expression of an argument."""
        return self.nodes[position]

    def count(self) -> int:
        """The number of arguments."""
        return len(self.nodes)


def estimate(checked: Checked) -> int:
    """The greatest cost of the expression, ``UNKNOWN`` if there is no bound."""
    return Estimator(checked).cost(checked.root)


class Estimator:
    """One pass over one tree; sizes and paths are noted by node number as they become known."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self._costs: dict[int, int] = {}
        self._sizes: dict[int, Size] = {}
        self._contents: dict[int, Contents] = {}
        self._paths: dict[int, Path] = {}
        self._locals: dict[str, list[Local]] = {}

    def cost(self, node: Node) -> int:
        """The greatest cost of a node; a tree that a macro uses twice is worked out once."""
        known = self._costs.get(node.id)
        if known is None:
            known = self._costs[node.id] = self._cost(node)
        return known

    def _cost(self, node: Node) -> int:
        match node:
            case Literal() | Ident():
                return self._leaf(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case MessageLiteral(fields=fields):
                return added(_MESSAGE_COST, *(self.cost(field.value) for field in fields))
            case Comprehension():
                return self._bind(node) if node.is_bind else self._loop(node)

    def _leaf(self, node: Literal | Ident) -> int:
        if isinstance(node, Literal):
            return 0
        local = self._local(node.name)
        self._paths[node.id] = (node.name.lstrip("."),) if local is None else local.path
        return 1

    def path(self, node: Node) -> Path:
        """The way from a variable to the value, empty if there is none."""
        local = self._local(node.name) if isinstance(node, Ident) else None
        found = self._paths.get(node.id, ()) if local is None else local.path
        return () if found and found[0] == ACCUMULATOR else found

    def size(self, node: Node) -> Size | None:
        """The size of a node's value, as far as it is known by now."""
        known = self._sizes.get(node.id)
        if known is not None:
            return known
        literal = literal_size(node)
        if literal is not None:
            return literal
        declared = declared_size(self.path(node))
        if declared is not None:
            self._sizes[node.id] = Size(0, declared)
            return self._sizes[node.id]
        if is_scalar(self.checked.type(node)):
            return ONE
        local = self._local(node.name) if isinstance(node, Ident) else None
        return None if local is None else local.size

    def contents(self, node: Node) -> Contents | None:
        """The sizes of what a node's value holds."""
        known = self._contents.get(node.id)
        if known is None and isinstance(node, Ident):
            local = self._local(node.name)
            return None if local is None else local.contents
        return known

    def _local(self, name: str) -> Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _select(self, node: Select) -> int:
        if node.id in self.checked.constants:
            return 1
        operand = self.cost(node.operand)
        if node.test_only:
            return operand
        self._paths[node.id] = (*self.path(node.operand), node.field)
        kind = self.checked.type(node.operand).kind
        return added(operand, 1) if kind in (Kind.MAP, Kind.OBJECT) else operand

    def _list(self, node: ListLiteral) -> int:
        costs = [self.cost(element) for element in node.elements]
        value = union([self.size(element) or ANY_SIZE for element in node.elements])
        self._contents[node.id] = Contents(is_list=True, key=ONE, value=value)
        return added(_LIST_COST, *costs)

    def _map(self, node: MapLiteral) -> int:
        costs = [added(self.cost(entry.key), self.cost(entry.value)) for entry in node.entries]
        keys = union([self.size(entry.key) or ANY_SIZE for entry in node.entries])
        values = union([self.size(entry.value) or ANY_SIZE for entry in node.entries])
        self._contents[node.id] = Contents(is_list=False, key=keys, value=values)
        return added(_MAP_COST, *costs)

    def _call(self, node: Call) -> int:
        resolution = self.checked.calls[node.id]
        nodes = node.args if resolution.qualified else node.operands
        costs = [self.cost(argument) for argument in nodes]
        match node.function:
            case "dyn":
                self._copy(node, nodes[0])
                return added(costs[0], 1)
            case "_&&_" | "_||_":
                return added(*costs)
            case "_?_:_":
                self._note_choice(node, nodes[1], nodes[2])
                return added(costs[0], max(costs[1:]))
            case _:
                return added(self._function(node, resolution, nodes), *costs)

    def _function(self, node: Call, resolution: Resolution, nodes: tuple[Node, ...]) -> int:
        site = Site(self, nodes)
        greatest, result = 0, None
        for overload in resolution.overloads:
            cost, made = _estimate_of(resolution, overload)(site)
            greatest = max(greatest, cost)
            if made is not None:
                result = made if result is None else union([result, made])
            result = self._indexed(node, overload, result)
            if overload.id.startswith("add_") and result is not None:
                self._note_joined(node, *nodes)
            if result is None:
                result = self.size(node)
        if result is not None:
            self._sizes[node.id] = result
        return greatest

    def _indexed(self, node: Call, overload: Overload, result: Size | None) -> Size | None:
        step = _INDEX_STEPS.get(overload.id)
        if step is None:
            return result
        self._paths[node.id] = (*self.path(node.args[0]), step)
        contents = self.contents(node.args[0])
        return None if contents is None else contents.value

    def _note_choice(self, node: Call, chosen: Node, other: Node) -> None:
        sizes = [self.size(branch) or ANY_SIZE for branch in (chosen, other)]
        self._sizes[node.id] = union(sizes)
        self._note_joined(node, chosen, other)

    def _note_joined(self, node: Call, a: Node, b: Node) -> None:
        left, right = self.contents(a), self.contents(b)
        if left is not None and right is not None:
            keys, values = union([left.key, right.key]), union([left.value, right.value])
            self._contents[node.id] = Contents(is_list=left.is_list, key=keys, value=values)

    def _copy(self, to: Node, source: Node) -> None:
        if (size := self.size(source)) is not None:
            self._sizes[to.id] = size
        if (contents := self.contents(source)) is not None:
            self._contents[to.id] = contents

    def _bind(self, node: Comprehension) -> int:
        named = added(self.cost(node.range), self.cost(node.init))
        self._enter(node.accumulator, self._bound(node.init))
        body = self.cost(node.result)
        self._leave(node.accumulator)
        self._copy(node, node.result)
        return added(named, body)

    def _loop(self, node: Comprehension) -> int:
        before = added(self.cost(node.range), self.cost(node.init))
        self._enter(node.accumulator, self._bound(node.init))
        names = self._loop_variables(node)
        each = added(self.cost(node.condition), self.cost(node.step))
        for name in names:
            self._leave(name)
        result = self.cost(node.result)
        self._leave(node.accumulator)
        count = self.size(node.range) or ANY_SIZE
        self._note_loop(node, count)
        return added(before, result, multiplied(count.high, each))

    def _note_loop(self, node: Comprehension, count: Size) -> None:
        if isinstance(node.init, Literal):
            self._sizes[node.id] = self.size(node.init) or ANY_SIZE
            return
        self._sizes[node.id] = count
        contents = self.contents(node.step)
        if contents is not None:
            self._contents[node.id] = contents

    def _bound(self, init: Node) -> Local:
        return Local(self.path(init), self.size(init), self.contents(init))

    def _loop_variables(self, node: Comprehension) -> list[str]:
        contents = self.contents(node.range)
        is_list = (
            self.checked.type(node.range).kind is Kind.LIST
            if contents is None
            else contents.is_list
        )
        path = self.path(node.range)
        key_size, size = (None, None) if contents is None else (contents.key, contents.value)
        value = Local((*path, "@items" if is_list else "@values"), size, None)
        key = Local((*path, "@indices" if is_list else "@keys"), key_size, None)
        if node.second_variable is not None:
            self._enter(node.variable, key)
            self._enter(node.second_variable, value)
            return [node.variable, node.second_variable]
        self._enter(node.variable, value if is_list else key)
        return [node.variable]

    def _enter(self, name: str, local: Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _leave(self, name: str) -> None:
        self._locals[name].pop()


_INDEX_STEPS: Final = {"index_list": "@items", "index_map": "@values"}


def _estimate_of(resolution: Resolution, overload: Overload) -> Estimate:
    return overload.estimate or resolution.function.estimate or estimate_one
