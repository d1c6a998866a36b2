"""Keeps programs running: starts them, starts them again, stops them in order, leaves nothing."""

import asyncio
import signal
from pathlib import Path
from typing import Final

from dra_cli.edge.rest import answers
from dra_cli.local.child import Child, NotReadyError, Program, may_start_again

RESTART_PAUSE: Final = 0.1
LOOK_AGAIN: Final = 0.03
PATIENCE: Final = 8.0
"""Seconds that a program has to end in good order before it is killed."""


class NoSuchProgramError(Exception):
    """The caller named a program that was never started."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"no program {name!r} runs here; there are {', '.join(known)}")


class Supervisor:
    """The programs of one local system, each with a log file in `logs`.

    A program that asks to be started again (exit code 75) or is killed gets a new process, unless
    `restart` is off; any other end is for good, and `check` tells of it.
    """

    def __init__(self, logs: Path, *, restart: bool = True, patience: float = PATIENCE) -> None:
        self._logs = logs
        self._patience = patience
        self._restart = restart
        self._children: dict[str, Child] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._groups: list[tuple[str, ...]] = []
        self._ended = asyncio.Event()
        self._stopping = asyncio.Event()

    def start(self, *programs: Program) -> None:
        """Starts programs as one group: groups are stopped in the reverse order of their start."""
        for program in programs:
            child = Child(program, self._logs / f"{program.name}.log")
            self._children[program.name] = child
            self._tasks[program.name] = asyncio.create_task(self._keep(child))
        self._groups.append(tuple(program.name for program in programs))

    def start_again(self, name: str) -> None:
        """Starts a program that ended; nothing happens if it runs."""
        child = self.child(name)
        if self._tasks[name].done():
            child.ended = None
            self._tasks[name] = asyncio.create_task(self._keep(child))

    async def retire(self, name: str) -> None:
        """Ends a program in good order and forgets it; one of the same name may be started."""
        self.child(name).retired = True
        await self._stop(name)
        del self._children[name], self._tasks[name]
        self._groups = [tuple(n for n in group if n != name) for group in self._groups]

    def pids(self) -> dict[str, int]:
        """The processes that run now, by program."""
        return {name: child.pid for name, child in self._children.items() if child.pid}

    def child(self, name: str) -> Child:
        """The program with this name; raises NoSuchProgramError."""
        if name not in self._children:
            raise NoSuchProgramError(name, sorted(self._children))
        return self._children[name]

    async def ready(self, *names: str, within: float) -> None:
        """Waits until all these programs say that they are ready; all of them if none is named.

        Raises ProgramEndedError if any program ended, NotReadyError when the seconds are over.
        """
        deadline = asyncio.get_running_loop().time() + within
        for name in names or self._children:
            await self._ready(self.child(name), within, deadline)

    def check(self) -> None:
        """Raises ProgramEndedError if any program ended for good."""
        for child in self._children.values():
            if error := child.error():
                raise error

    async def failure(self) -> None:
        """Waits until a program ends for good, and raises its ProgramEndedError."""
        await self._ended.wait()
        self.check()

    async def stop(self) -> None:
        """Ends all programs, the last group first; kills what does not end in time."""
        self._stopping.set()
        for group in reversed(self._groups):
            await asyncio.gather(*(self._stop(name) for name in group))

    async def _keep(self, child: Child) -> None:
        while not self._stopping.is_set():
            end = await _run(child)
            if child.retired:
                return
            lives_on = self._restart and may_start_again(end)
            if not (lives_on or self._stopping.is_set()):
                child.ended = end
                self._ended.set()
                return
            await asyncio.sleep(RESTART_PAUSE)

    async def _ready(self, child: Child, within: float, deadline: float) -> None:
        while (says := await answers(child.program.ready)) != "":
            self.check()
            if asyncio.get_running_loop().time() > deadline:
                raise NotReadyError(child.program.name, within, says, child.log)
            await asyncio.sleep(LOOK_AGAIN)

    async def _stop(self, name: str) -> None:
        task = self._tasks[name]
        self._children[name].signal(signal.SIGTERM)
        await asyncio.wait((task,), timeout=self._patience)
        task.cancel()
        await asyncio.wait((task,))


async def _run(child: Child) -> int | OSError:
    """How the program ended, or why it cannot be started."""
    try:
        return await child.run()
    except OSError as problem:
        return problem
