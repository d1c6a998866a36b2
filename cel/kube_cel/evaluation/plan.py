"""What planning a node gives: how to evaluate it, and what is known of it beforehand."""

import msgspec

from kube_cel.evaluation.frame import Evaluate
from kube_cel.values.optional import ABSENT


class Plan(msgspec.Struct, frozen=True, eq=False):
    """
    How to evaluate a node.

    ``constant`` is its value if that is known when the program is made. ``bare`` evaluates
    a chain of names without charging for its root: that is how branches of a conditional
    and plain indexes are charged.
    """

    run: Evaluate
    constant: object = ABSENT
    bare: Evaluate | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the value is known."""
        return self.constant is not ABSENT


def constant_plan(value: object) -> Plan:
    """The plan of a value that is known."""
    return Plan(lambda _frame: value, constant=value)
