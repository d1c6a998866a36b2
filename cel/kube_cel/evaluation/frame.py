"""The state of one evaluation: the device, the variables, and what was spent so far."""

from collections.abc import Callable
from typing import Final, TypeAlias

from kube_cel.errors import CostExceededError, DeadlineExceededError, EvaluationError

COST_LIMIT: Final = 1_000_000
"""What one evaluation on one device may cost."""
STEPS_BETWEEN_CHECKS: Final = 100

Expired: TypeAlias = Callable[[], bool]
"""Says whether an evaluation has to stop; asked every 100 steps of its loops."""


class Failure:
    """An error as a value: what an expression without a value evaluates to."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


class Frame:
    """One evaluation. Charging for more than the limit ends it with an exception."""

    __slots__ = ("_expired", "cost", "device", "limit", "steps", "variables")

    def __init__(self, device: object, slots: int, limit: int, expired: Expired | None) -> None:
        self.device = device
        self.variables: list[object] = [None] * slots
        self.cost = 0
        self.limit = limit
        self.steps = 0
        self._expired = expired

    def charge(self, amount: int) -> None:
        """Add the cost of one step."""
        self.cost += amount
        if self.cost > self.limit:
            raise CostExceededError

    def tick(self) -> None:
        """Count one step of a loop; now and then ask whether time is up."""
        self.steps += 1
        if self.steps % STEPS_BETWEEN_CHECKS == 0 and self._expired is not None:
            self.check_time()

    def check_time(self) -> None:
        """End the evaluation if its caller says that time is up."""
        if self._expired is not None and self._expired():
            raise DeadlineExceededError


Evaluate: TypeAlias = Callable[[Frame], object]
