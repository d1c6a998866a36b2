"""A service as a process: help, settings, logging, endpoint, signals, exit codes. One way for all."""

import argparse
import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import TypeVar

import structlog

from dra_shared.log.protocol import FencedError, LogError
from dra_shared.runtime.endpoint import Readiness, endpoint
from dra_shared.runtime.logs import configure
from dra_shared.runtime.parked import NewerReleaseError
from dra_shared.runtime.settings import Settings, SettingsError, describe, load

SettingsT = TypeVar("SettingsT", bound=Settings)
Run = Callable[[SettingsT, Readiness], Awaitable[None]]

_log = structlog.get_logger()


class Exit(IntEnum):
    """What a process's end means to whoever started it."""

    ENDED = 0
    FAILED = 1
    SETTINGS = 2
    START_AGAIN = 75


class StartAgainError(Exception):
    """The process cannot go on but a new one can: start it again."""


def main(kind: type[SettingsT], service: str, about: str, run: Run[SettingsT]) -> int:
    """Runs a service until it ends or is told to; returns the exit code.

    SIGTERM and SIGINT cancel `run`, which then has the time to end in good order.
    """
    _parse_arguments(kind, service, about)
    try:
        settings = load(kind, os.environ)
        configure(settings, service)
        readiness = Readiness("start")
        with endpoint(settings, readiness) as port:
            _log.info("started", pid=os.getpid(), http_port=port)
            return asyncio.run(_until_told(run(settings, readiness)))
    except SettingsError as error:
        print(f"{service}: {error}", file=sys.stderr)  # noqa: T201 - before any logger
        return Exit.SETTINGS


def instance_name(settings: Settings) -> str:
    """The name of this process among its like: stays the same over its restarts if it was given."""
    return settings.instance or f"{socket.gethostname()}:{os.getpid()}"


async def _until_told(work: Awaitable[None]) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        _log.info("stopped")
    except Exception as error:  # noqa: BLE001 - the end of the process: told, never swallowed
        return _verdict(_first(error))
    return Exit.ENDED


def _first(error: BaseException) -> BaseException:
    """The error itself, or the first of a group that tasks running together raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _verdict(error: BaseException) -> Exit:
    match error:
        case FencedError() | StartAgainError():
            _log.warning("must start again", reason=str(error))
            return Exit.START_AGAIN
        case SettingsError():
            _log.error("wrong settings", reason=str(error))
            return Exit.SETTINGS
        case LogError() | NewerReleaseError():
            _log.error("cannot go on", reason=str(error))
        case _:
            _log.error("a fault of ours, please report it", exc_info=error)
    return Exit.FAILED


def _parse_arguments(kind: type[Settings], service: str, about: str) -> None:
    argparse.ArgumentParser(
        prog=service,
        description=about,
        epilog="environment:\n" + describe(kind),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
