"""One program of the local system and the process that runs it now."""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

TETHER: Final = str(Path(__file__).with_name("tether.py"))
START_AGAIN: Final = 75
"""Exit code of a service that cannot go on, but a new process can."""

TAIL: Final = 25
"""Lines of a program's log that an error shows."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """How to start one process. `ready`: the URL that answers 200 once it can work."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = MappingProxyType({})
    ready: str


class ProgramEndedError(Exception):
    """A program does not run that should; its log, or the system, says why. The operator must act."""

    def __init__(self, name: str, end: int | OSError, log: Path) -> None:
        super().__init__(f"{name} {_meaning(end)}; the end of {log}:\n{tail(log)}")
        self.name = name


class NotReadyError(Exception):
    """A program runs but did not get ready in time; the operator must look at its log."""

    def __init__(self, name: str, seconds: float, says: str, log: Path) -> None:
        super().__init__(
            f"{name} was not ready after {seconds:g} s ({says}); the end of {log}:\n{tail(log)}"
        )
        self.name = name


class Child:
    """A program that is started, and started again."""

    def __init__(self, program: Program, log: Path) -> None:
        self.program = program
        self.log = log
        self.starts = 0
        self.ended: int | OSError | None = None
        self.retired = False
        self._process: asyncio.subprocess.Process | None = None

    async def run(self) -> int:
        """Starts the program once; returns its exit code, negative for a signal.

        Raises OSError if the system cannot start it.
        """
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", TETHER, str(os.getpid()), *self.program.command),
                env={**os.environ, **self.program.environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the parent, which stops them in order
            )
        self.starts += 1
        try:
            return await self._process.wait()
        except asyncio.CancelledError:
            self.signal(signal.SIGKILL)
            await self._process.wait()
            raise

    @property
    def pid(self) -> int | None:
        """The process that runs now."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process else None

    def signal(self, number: signal.Signals) -> bool:
        """Sends a signal; False if no process runs."""
        if self._process is None or self._process.returncode is not None:
            return False
        self._process.send_signal(number)
        return True

    def error(self) -> ProgramEndedError | None:
        """Why the program is not running, if it ended for good."""
        if self.ended is None:
            return None
        return ProgramEndedError(self.program.name, self.ended, self.log)


def tail(log: Path) -> str:
    """The last lines of a log file."""
    try:
        with log.open(errors="replace") as lines:
            last = deque(lines, maxlen=TAIL)
    except FileNotFoundError:
        return "  (nothing)"
    except OSError as problem:
        return f"  ({problem.strerror})"
    return "".join(f"  {line}" for line in last).rstrip() or "  (nothing)"


def may_start_again(end: int | OSError) -> bool:
    """Whether such an end calls for a new process: it asked for one, or was killed."""
    return isinstance(end, int) and (end == START_AGAIN or end < 0)


def _meaning(end: int | OSError) -> str:
    if isinstance(end, OSError):
        return f"cannot be started ({end})"
    return (
        f"ended with signal {signal.Signals(-end).name}"
        if end < 0
        else f"ended with exit code {end}"
    )
