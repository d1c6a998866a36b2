"""What planning a node gives: how to evaluate it, and what is known of it beforehand."""

import msgspec

from kube_cel.evaluation.frame import Evaluate, Frame
from kube_cel.values.optional import ABSENT


class Plan(msgspec.Struct, frozen=True, eq=False, gc=False):
    """
    How to evaluate a node.

    ``constant`` is its value if that is known when the program is made. ``bare`` evaluates it
    without charging for its root, if it has one (``rooted``: a name, or a chain that starts at
    one): that is how branches of a conditional and plain indexes are charged.
    """

    bare: Evaluate
    constant: object = ABSENT
    rooted: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether the value is known."""
        return self.constant is not ABSENT

    @property
    def run(self) -> Evaluate:
        """Evaluates the node and charges for all of it."""
        return charged(self.bare, 1) if self.rooted else self.bare


def constant_plan(value: object) -> Plan:
    """The plan of a value that is known."""
    return Plan(lambda _frame: value, constant=value)


def charged(evaluate: Evaluate, cost: int) -> Evaluate:
    """Evaluates, then charges."""

    def run(frame: Frame) -> object:
        value = evaluate(frame)
        frame.charge(cost)
        return value

    return run
