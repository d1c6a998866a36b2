"""Waiting for a condition, the only way tests wait: poll with a deadline, never sleep and hope.

Nothing about Kubernetes belongs here.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class DeadlineError(AssertionError):
    """What was awaited did not come true in time; the message names it and the last answer."""

    def __init__(self, awaited: str, seconds: float, last: object) -> None:
        super().__init__(f"not within {seconds:g} s: {awaited} (last answer: {last!r})")


async def eventually(
    awaited: str,
    probe: Callable[[], Awaitable[T | None]],
    *,
    seconds: float = 20.0,
    every: float = 0.05,
) -> T:
    """First truthy answer of `probe`, asked every `every` seconds.

    `awaited` says in words what is waited for. Raises DeadlineError after `seconds`;
    exceptions of the probe pass through.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = await probe()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise DeadlineError(awaited, seconds, answer)
        await asyncio.sleep(every)
