"""One thing after the other for each claim, many claims at once, and no work lost with its caller.

The kubelet gives up after a while and asks again: what was begun goes on meanwhile, and the
second call waits for its turn behind it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class StillBusyError(Exception):
    """The work goes on, but its caller will not wait any longer."""


class Turns:
    """Jobs in the order in which they came, by key. `broken` fails when a job ends unexpectedly."""

    def __init__(self) -> None:
        self._last: dict[str, asyncio.Task[object]] = {}
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def take(self, key: str, work: Callable[[], Awaitable[T]], patience: float) -> T:
        """What the work returns once its turn has come; raises StillBusyError after `patience` s."""
        job = self._queue(key, work)
        try:
            return await asyncio.wait_for(asyncio.shield(job), patience)
        except TimeoutError:
            raise StillBusyError from None

    def begin(self, key: str, work: Callable[[], Awaitable[object]]) -> None:
        """Queues the work behind what was asked for the key before, and does not wait."""
        _ = self._queue(key, work)

    def busy(self, key: str) -> bool:
        """Whether there is unfinished work for the key."""
        return key in self._last

    async def settle(self, patience: float) -> None:
        """Waits for all jobs, then stops those that would not end."""
        while jobs := tuple(self._last.values()):
            _, late = await asyncio.wait(jobs, timeout=patience)
            for job in late:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)

    def _queue(self, key: str, work: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        job = asyncio.create_task(self._after(self._last.get(key), work))
        self._last[key] = job
        job.add_done_callback(lambda done: self._finished(key, done))
        return job

    async def _after(
        self, previous: "asyncio.Task[object] | None", work: Callable[[], Awaitable[T]]
    ) -> T:
        if previous is not None:
            await asyncio.wait((previous,))
        return await work()

    def _finished(self, key: str, job: "asyncio.Task[T]") -> None:
        if self._last.get(key) is job:
            del self._last[key]
        if job.cancelled() or job.exception() is None or self.broken.done():
            return
        self.broken.set_exception(job.exception() or RuntimeError())
