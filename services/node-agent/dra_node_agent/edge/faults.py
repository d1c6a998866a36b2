"""Faults that tests switch on from outside: an effect that fails, hangs or kills the process.

Off unless FAULTS_FILE is set; then the file says which faults are on, and is read again at each
place that can fail. Never set it in production: the agent warns about it when it starts.
"""

import asyncio
import os
import signal
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

POLL: Final = 0.05
"""Seconds between looks at the file while an effect hangs."""


class Point(StrEnum):
    """The places where something can go wrong, in the order in which a claim passes them."""

    SET_UP = "set_up"
    SET_UP_DONE = "set_up_done"
    CDI_WRITE = "cdi_write"
    CDI_RENAME = "cdi_rename"
    CDI_WRITTEN = "cdi_written"
    PREPARED = "prepared"
    CDI_UNLINK = "cdi_unlink"
    TEAR_DOWN = "tear_down"
    TEAR_DOWN_DONE = "tear_down_done"


class Effect(StrEnum):
    """What goes wrong: an error, no answer until the fault is off, or a kill -9 of the agent."""

    RAISE = "raise"
    BLOCK = "block"
    KILL = "kill"


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fault that is on; an empty driver, claim (uid) or device stands for all of them."""

    point: Point
    effect: Effect
    driver: str = ""
    claim: str = ""
    device: str = ""

    def concerns(self, point: Point, driver: str, claim: str, device: str) -> bool:
        """Whether the fault strikes there."""
        return (
            self.point is point
            and self.driver in ("", driver)
            and self.claim in ("", claim)
            and self.device in ("", device)
        )


class InjectedFaultError(OSError):
    """An effect failed because a test wanted it to; treated like any other I/O error."""


class FaultPoints:
    """Passes, or lets a fault strike. Without a path there are no faults."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    async def reach(self, point: Point, driver: str, claim: str, device: str = "") -> None:
        """Returns when no fault is on (any more); raises InjectedFaultError, or never returns."""
        while fault := self._on(point, driver, claim, device):
            match fault.effect:
                case Effect.RAISE:
                    message = f"fault {point} is on for {device or claim} of {driver}"
                    raise InjectedFaultError(message)
                case Effect.BLOCK:
                    await asyncio.sleep(POLL)
                case Effect.KILL:
                    os.kill(os.getpid(), signal.SIGKILL)

    def _on(self, point: Point, driver: str, claim: str, device: str) -> Fault | None:
        if self._path is None:
            return None
        try:
            faults = msgspec.json.decode(self._path.read_bytes(), type=tuple[Fault, ...])
        except FileNotFoundError:
            return None
        return next((f for f in faults if f.concerns(point, driver, claim, device)), None)
