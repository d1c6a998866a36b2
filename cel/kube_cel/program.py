"""A compiled expression: evaluate it on a device, ask for its costs and what it reads."""

from collections.abc import Callable, Collection, Hashable
from functools import cached_property, partial
from typing import Final

import msgspec

from kube_cel.answers import Answer, Answers, Seen, ask_each
from kube_cel.checked import Checked
from kube_cel.device import Device
from kube_cel.errors import EvaluationError, NotBooleanError
from kube_cel.estimate import estimate
from kube_cel.evaluation.frame import COST_LIMIT, Evaluate, Expired, Failure, Frame
from kube_cel.generated import generate
from kube_cel.projection import Leaf, Reader, leaves, readers
from kube_cel.values import work
from kube_cel.values.optional import Optional
from kube_cel.values.typenames import name_of

_OFTEN: Final = 64
"""Generating the fast way costs as much as about this many evaluations without it."""


class Outcome(msgspec.Struct, frozen=True):
    """A value and what it cost."""

    value: object
    cost: int


class Program:
    """
    A compiled expression, to be shared freely.

    All that an evaluation leaves behind is a count: an expression that is asked often gets
    a fast way, generated once, with the same answers.
    """

    def __init__(self, text: str, checked: Checked, run: Evaluate, slots: int) -> None:
        self.text = text
        self._checked = checked
        self._run = run
        self._slots = slots
        self._asked = 0
        self._answers: Answers = ask_each

    @cached_property
    def estimated_cost(self) -> int:
        """The worst case of the cost, 2^64 - 1 if there is no bound."""
        return estimate(self._checked)

    @cached_property
    def reads(self) -> frozenset[Leaf] | None:
        """The leaves of a device that the answer depends on, None if it may be all of them."""
        return leaves(self._checked)

    @cached_property
    def _readers(self) -> tuple[Reader, ...] | None:
        return None if self.reads is None else readers(self.reads)

    def projection(self, device: Device) -> tuple[Hashable, ...] | None:
        """
        The values that the answer depends on: devices with equal ones get the same answer.

        None if the expression may read everything.
        """
        if self._readers is None:
            return None
        return tuple([read(device) for read in self._readers])

    def matches(self, device: Device, *, expired: Expired | None = None) -> bool:
        """Whether the device fits. Raises ``EvaluationError`` if there is no answer."""
        exactly = self._matches if expired is None else partial(self._matches, expired=expired)
        (answer,) = self.answers((device,), exactly)
        return answer

    def answers(
        self, devices: Collection[Seen], otherwise: Callable[[Seen], Answer]
    ) -> list[bool | Answer]:
        """
        Whether each device fits, in one go for expressions that are asked often.

        Devices for which the expression has to be evaluated are given to ``otherwise``, which
        may use ``matches`` and remember what came of it. So are errors that came of reading a
        device and stand in its place.
        """
        if self._asked < _OFTEN:
            self._asked += len(devices)
            if self._asked >= _OFTEN:
                self._answers = generate(self.text, self._checked) or ask_each
        return self._answers(devices, otherwise)

    def _matches(self, device: Device, *, expired: Expired | None = None) -> bool:
        value = self.evaluate(device, expired=expired).value
        if isinstance(value, Optional) and value.present:
            value = value.value
        if value is True or value is False:
            return value
        raise NotBooleanError(name_of(value))

    def evaluate(
        self, device: Device, *, expired: Expired | None = None, limit: int = COST_LIMIT
    ) -> Outcome:
        """The value and its exact run-time cost. Raises ``EvaluationError``, cost included."""
        frame = Frame(device.fields, self._slots, limit, expired)
        work.begin()
        try:
            value = self._run(frame)
        except EvaluationError as error:
            error.cost = frame.cost
            raise
        if isinstance(value, Failure):
            value.error.cost = frame.cost
            raise value.error
        return Outcome(value, frame.cost)
