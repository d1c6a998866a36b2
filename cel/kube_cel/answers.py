"""How a program answers for several devices at once, whichever way it goes."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from kube_cel.device import Device

Answer = TypeVar("Answer")


class Answers(Protocol):
    """Whether each device fits; what ``otherwise`` says where the expression is to be evaluated."""

    def __call__(
        self, devices: Iterable[Device], otherwise: Callable[[Device], Answer], /
    ) -> list[bool | Answer]:
        """See the class."""


def ask_each(
    devices: Iterable[Device], otherwise: Callable[[Device], Answer], /
) -> list[bool | Answer]:
    """The answers of an expression that is always evaluated."""
    return [otherwise(device) for device in devices]
