"""
Plans a checked tree: one closure a node, constants folded, chains and loops recognised.

What is known when the program is made is worked out here, once; a constant conversion
that fails here makes the whole program fail, even in a branch that is never taken.
"""

from typing import Final

from kube_cel.checked import Checked
from kube_cel.errors import EvaluationError
from kube_cel.evaluation import chains, folds, logic
from kube_cel.evaluation.frame import Evaluate, Failure, Frame
from kube_cel.evaluation.functions import plan_function
from kube_cel.evaluation.literals import plan_list, plan_map, plan_message
from kube_cel.evaluation.plan import Plan, constant_plan
from kube_cel.messages import ENUM_VALUES
from kube_cel.syntax import (
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
from kube_cel.types import NAMED_TYPES, VALUELESS_TYPES, Kind
from kube_cel.values.optional import Optional
from kube_cel.values.typenames import TypeName

_INDEXES: Final = frozenset({"_[_]", "_[?_]", "_?._"})


class Planner:
    """One pass over one tree. ``slots`` is how many variables the program needs."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._names: dict[str, list[Evaluate]] = {}
        self._known: dict[int, Plan] = {}
        self.slots = 0

    def plan(self, node: Node) -> Plan:
        """
        How to evaluate a node. Raises ``EvaluationError`` where a constant fails.

        A macro may use one tree twice; its plan is then used twice.
        """
        known = self._known.get(node.id)
        if known is None:
            known = self._known[node.id] = self._plan(node)
        return known

    def _plan(self, node: Node) -> Plan:
        match node:
            case Call():
                return self._call(node)
            case Literal() | Ident():
                return self._leaf(node)
            case Select():
                return self._select(node)
            case ListLiteral(elements=elements):
                return plan_list(node, tuple(map(self.plan, elements)))
            case MapLiteral(entries=entries):
                planned = tuple((self.plan(e.key), self.plan(e.value)) for e in entries)
                return plan_map(node, planned)
            case MessageLiteral(name=name, fields=fields):
                return plan_message(
                    name.lstrip("."), fields, [self.plan(f.value).run for f in fields]
                )
            case Comprehension():
                return self._bind(node) if node.is_bind else self._loop(node)

    def _leaf(self, node: Literal | Ident) -> Plan:
        return constant_plan(node.value) if isinstance(node, Literal) else self._ident(node)

    def _ident(self, node: Ident | Select) -> Plan:
        if node.id in self._checked.constants:
            return constant_plan(_named_constant(self._checked.constants[node.id]))
        assert isinstance(node, Ident)
        if self._checked.type(node).kind is Kind.TYPE:
            raise EvaluationError(f"reference to undefined type: {node.name}")
        read = self._names[node.name][-1] if self._names.get(node.name) else _read_device
        return Plan(read, rooted=True)

    def _select(self, node: Select) -> Plan:
        if node.id in self._checked.constants:
            return self._ident(node)
        return self._presence(node) if node.test_only else self._chain(node)

    def _presence(self, node: Select) -> Plan:
        operand, _ = self._root(node.operand)
        field = node.field

        def run(frame: Frame) -> object:
            container = operand(frame)
            if container.__class__ is Failure:
                return container
            if container.__class__ is not Optional:
                frame.charge(1)
            return chains.test(container, field)

        return Plan(run)

    def _chain(self, node: Node) -> Plan:
        """A chain from its root to this node."""
        links: list[chains.Link] = []
        root = node
        while (step := self._link(root)) is not None:
            link, root = step
            links.append(link)
        bare, rooted = self._root(root)
        return Plan(chains.follow(bare, tuple(reversed(links))), rooted=rooted)

    def _root(self, node: Node) -> tuple[Evaluate, bool]:
        """A chain's root without its charge, and whether there is one."""
        match node:
            case Call(function="_?_:_"):
                return self.plan(node).run, False
            case _:
                return self.plan(node).bare, True

    def _link(self, node: Node) -> tuple[chains.Link, Node] | None:
        match node:
            case Select(operand=operand, field=field, test_only=False):
                if node.id in self._checked.constants:
                    return None
                return chains.Link(field, optional=False), operand
            case Call(function=function, args=(operand, index)) if function in _INDEXES:
                return self._index_link(index, optional=function != "_[_]"), operand
            case _:
                return None

    def _index_link(self, index: Node, *, optional: bool) -> chains.Link:
        planned = self.plan(index)
        if not planned.is_constant:
            return chains.DynamicLink(planned.bare, optional=optional)
        if planned.constant.__class__ not in chains.KEYS:
            raise EvaluationError("invalid qualifier type")
        return chains.Link(planned.constant, optional=optional)

    def _call(self, node: Call) -> Plan:
        if node.function in _INDEXES:
            return self._chain(node)
        resolution = self._checked.calls[node.id]
        args = node.args if resolution.qualified else node.operands
        match node.function:
            case "_&&_" | "_||_":
                terms = tuple(self.plan(arg).run for arg in args)
                return Plan(logic.plan_junction(terms, stops_at=node.function == "_||_"))
            case "_?_:_":
                return self._conditional(args)
            case "@not_strictly_false":
                return Plan(logic.plan_not_strictly_false(self.plan(args[0]).run))
            case "or" | "orValue":
                return Plan(_or_else(self.plan(args[0]).run, self.plan(args[1]).run, node.function))
            case _:
                return plan_function(node, resolution, tuple(map(self.plan, args)))

    def _conditional(self, args: tuple[Node, ...]) -> Plan:
        condition, *branches = map(self.plan, args)
        chosen, other = (branch.bare for branch in branches)
        return Plan(logic.plan_conditional(condition.run, chosen, other))

    def _loop(self, node: Comprehension) -> Plan:
        closures = {"range": self.plan(node.range).run, "init": self.plan(node.init).run}
        accumulator, first = self._slot(), self._slot()
        second = self._slot() if node.second_variable is not None else None
        self._enter(node.accumulator, folds.read_variable(accumulator))
        self._enter(node.variable, folds.read_variable(first))
        if node.second_variable is not None and second is not None:
            self._enter(node.second_variable, folds.read_variable(second))
        closures["condition"] = self.plan(node.condition).run
        closures["step"] = self.plan(node.step).run
        if node.second_variable is not None:
            self._names[node.second_variable].pop()
        self._names[node.variable].pop()
        closures["result"] = self.plan(node.result).run
        self._names[node.accumulator].pop()
        return Plan(folds.plan_fold(folds.Parts(closures, (accumulator, first, second))))

    def _bind(self, node: Comprehension) -> Plan:
        slot = self._slot()
        init = self.plan(node.init).run
        self._enter(node.accumulator, folds.read_bound(slot, init))
        self.plan(node.step)
        body = self.plan(node.result).run
        self._names[node.accumulator].pop()
        return Plan(folds.plan_bind(slot, body))

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _enter(self, name: str, read: Evaluate) -> None:
        self._names.setdefault(name, []).append(read)


def _named_constant(name: str) -> object:
    if name in ENUM_VALUES:
        return ENUM_VALUES[name]
    if name in VALUELESS_TYPES or name not in NAMED_TYPES:
        raise EvaluationError(f"reference to undefined type: {name}")
    return TypeName(name)


def _read_device(frame: Frame) -> object:
    return frame.device


def _or_else(first: Evaluate, second: Evaluate, function: str) -> Evaluate:
    """``a.or(b)`` and ``a.orValue(b)``: b is evaluated only where a has no value."""
    unwrap = function == "orValue"

    def run(frame: Frame) -> object:
        value = first(frame)
        if value.__class__ is Failure:
            return value
        if not isinstance(value, Optional):
            return Failure(EvaluationError(f"no such overload: {function}"))
        if not value.present:
            return second(frame)
        return value.value if unwrap else value

    return run
