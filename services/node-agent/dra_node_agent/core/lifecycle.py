"""The life of one claim at one driver of this node, as a table.

Each step is durable before the effect that it intends, and each effect may be repeated: a crash
at any point is mended by taking the step again. What the effects are is not known here.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Phase(StrEnum):
    """Where a claim is: every phase but GONE holds the claim's devices."""

    ACCEPTED = "accepted"
    """The devices are held, nothing is done to them (in this boot)."""
    SETTING_UP = "setting_up"
    PREPARED = "prepared"
    UNDOING = "undoing"
    GONE = "gone"


class Step(StrEnum):
    """What happens to a claim."""

    ACCEPT = "accept"
    BEGIN_SET_UP = "begin_set_up"
    FINISH_SET_UP = "finish_set_up"
    BEGIN_UNDO = "begin_undo"
    FINISH_UNDO = "finish_undo"
    REBOOT = "reboot"


TRANSITIONS: Final[Mapping[tuple[Phase, Step], Phase]] = MappingProxyType(
    {
        (Phase.GONE, Step.ACCEPT): Phase.ACCEPTED,
        (Phase.ACCEPTED, Step.BEGIN_SET_UP): Phase.SETTING_UP,
        (Phase.ACCEPTED, Step.BEGIN_UNDO): Phase.UNDOING,
        (Phase.ACCEPTED, Step.REBOOT): Phase.ACCEPTED,
        (Phase.SETTING_UP, Step.FINISH_SET_UP): Phase.PREPARED,
        (Phase.SETTING_UP, Step.BEGIN_UNDO): Phase.UNDOING,
        (Phase.SETTING_UP, Step.REBOOT): Phase.ACCEPTED,
        (Phase.PREPARED, Step.BEGIN_UNDO): Phase.UNDOING,
        (Phase.PREPARED, Step.REBOOT): Phase.ACCEPTED,
        (Phase.UNDOING, Step.FINISH_UNDO): Phase.GONE,
        (Phase.UNDOING, Step.REBOOT): Phase.UNDOING,
    }
)


class IllegalStepError(Exception):
    """A step that does not fit where the claim is: a fault of the agent itself."""

    def __init__(self, phase: Phase, step: Step) -> None:
        super().__init__(f"{step} in phase {phase}")
        self.phase = phase
        self.step = step


def next_phase(phase: Phase, step: Step) -> Phase:
    """Where the step leads; raises IllegalStepError when the table has no such cell."""
    try:
        return TRANSITIONS[phase, step]
    except KeyError:
        raise IllegalStepError(phase, step) from None
