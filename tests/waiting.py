"""Waiting in tests: for a condition, never for a time."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def until(
    condition: Callable[[], Coroutine[Any, Any, T]],
    what: str,
    *,
    within: float = 10.0,
    every: float = 0.02,
) -> T:
    """The condition's first true value; fails with `what` when there is none in `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        value = await condition()
        if value:
            return value
        if time.monotonic() > deadline:
            message = f"not within {within} s: {what}"
            raise AssertionError(message)
        await asyncio.sleep(every)
