"""Options that several commands have, and running their work."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from dra_cli.core.position import EXAMPLES, THE_END, BadPositionError, Position, parse_position
from dra_cli.edge.screen import FORMATS

INTERRUPTED: Final = 130
Command = TypeVar("Command", bound=Callable[..., Any])


def source_options(command: Command) -> Command:
    """Adds --nats and --log; the command gets `nats` and `log`, for a `Source`."""
    nats = click.option(
        "--nats",
        metavar="URL",
        envvar="NATS_URL",
        default="nats://127.0.0.1:4222",
        show_default=True,
        show_envvar=True,
        help="The NATS server that keeps the log.",
    )
    file = click.option(
        "--log",
        "log",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Read the log from a file of `dra export` instead.",
    )
    return nats(file(command))


def at_option(command: Command) -> Command:
    """Adds --at; the command gets `at`, the end of the log if it is not given."""
    return click.option(
        "--at",
        metavar="SEQ|TIME",
        callback=_position,
        help=f"Look at the log up to here, such as {EXAMPLES}.",
    )(command)


def output_option(command: Command) -> Command:
    """Adds -o; the command gets `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="A table for people, the others for programs.",
    )(command)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Runs the work of a command; Ctrl-C and SIGTERM end it quietly, and in good order."""
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def _position(ctx: click.Context, param: click.Parameter, value: str | None) -> Position:
    try:
        return THE_END if value is None else parse_position(value)
    except BadPositionError as error:
        raise click.BadParameter(str(error), ctx, param) from error
