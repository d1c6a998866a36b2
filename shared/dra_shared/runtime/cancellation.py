"""Makes `asyncio.wait_for` hear every cancellation, as it does from Python 3.12 on.

Before, a cancellation that arrives while the awaited result does is swallowed: the caller goes on as
if nobody had told it to stop, and whoever waits for its end waits for ever. nats-py uses `wait_for`
for every request, so a service that was told to stop, or fenced off, hung now and then. Goes away
with Python 3.11.
"""

import asyncio
import sys
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


def hear_cancellations() -> None:
    """Puts the better `wait_for` in place for this process, where Python's own is the old one."""
    if sys.version_info < (3, 12):
        asyncio.wait_for = wait_for  # type: ignore[assignment] # that is the point


async def wait_for(fut: Awaitable[T], timeout: float | None) -> T:  # noqa: ASYNC109 - its name there
    """The result, or TimeoutError; what was awaited is cancelled then, and when we are."""
    async with asyncio.timeout(timeout):
        return await fut
