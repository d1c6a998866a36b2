"""How a program answers for several devices at once, whichever way it goes."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from kube_cel.device import Device
from kube_cel.errors import EvaluationError

Answer = TypeVar("Answer")

Seen = TypeVar("Seen", bound=Device | EvaluationError)
"""A device, or the error that came of reading one."""


class Answers(Protocol):
    """
    Whether each device fits, or what ``otherwise`` says of it.

    It is asked where the expression has to be evaluated, and for what could not be read.
    """

    def __call__(
        self, devices: Iterable[Seen], otherwise: Callable[[Seen], Answer], /
    ) -> list[bool | Answer]:
        """See the class."""


def ask_each(
    devices: Iterable[Seen], otherwise: Callable[[Seen], Answer], /
) -> list[bool | Answer]:
    """The answers of an expression that is always evaluated."""
    return [otherwise(device) for device in devices]
