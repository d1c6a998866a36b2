"""One running server: started tethered to us, its output in a log file, killed at the end.

Knows nothing about Kubernetes.
"""

import asyncio
import os
import sys
from pathlib import Path

from dra_cli.local.child import TETHER

TAIL_LINES = 25


class StartError(Exception):
    """A server did not come up; the message ends with the tail of its log."""

    def __init__(self, name: str, why: str, log: Path) -> None:
        super().__init__(f"{name} {why}; {log} ends with:\n{tail(log)}")


def tail(log: Path) -> str:
    """The last lines of a log file."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])


class Server:
    """A program running beside us until `kill`, or until we die."""

    def __init__(self, running: asyncio.subprocess.Process, name: str, log: Path) -> None:
        self._running = running
        self.name = name
        self.log = log

    @classmethod
    async def start(cls, program: Path, arguments: list[str], log: Path) -> "Server":
        """Starts `program`; its output is appended to `log`."""
        with log.open("ab") as output:
            running = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-S", TETHER, str(os.getpid()), str(program), *arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=log.parent,
            )
        return cls(running, program.name, log)

    @property
    def pid(self) -> int:
        """The process id, for measuring."""
        return self._running.pid

    def check_alive(self) -> None:
        """Raises StartError when the program has ended by itself."""
        if self._running.returncode is not None:
            raise StartError(self.name, f"ended with {self._running.returncode}", self.log)

    async def kill(self) -> None:
        """Ends the program at once: these servers take up to a minute on SIGTERM."""
        if self._running.returncode is None:
            self._running.kill()
        await self._running.wait()
