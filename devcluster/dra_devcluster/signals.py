"""Ending in good order: SIGTERM and SIGINT cancel the work, and that is no error."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


async def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Run until the work ends or a signal comes. A failure of one part of it is raised alone."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return
    except BaseExceptionGroup as group:
        raise first_cause(group) from group


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first exception in a group that is not a group itself."""
    cause = group.exceptions[0]
    return first_cause(cause) if isinstance(cause, BaseExceptionGroup) else cause
