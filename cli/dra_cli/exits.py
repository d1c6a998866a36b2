"""What the exit codes of `dra` mean, and the errors that lead to them."""

from enum import IntEnum
from typing import Final

import click


class Exit(IntEnum):
    """For scripts; usage errors are click's own, also 2."""

    GOOD = 0
    FOUND_WRONG = 1
    USAGE = 2
    NO_LOG = 3
    NOT_FOUND = 4


EXIT_CODES: Final = """\
Exit codes: 0 good, 1 something is wrong (verify has findings, demo differs), 2 usage,
3 the log cannot be read, 4 what was asked for is not in it"""


class NoLogError(click.ClickException):
    """The log cannot be read; the operator must act."""

    exit_code = Exit.NO_LOG


class NotFoundError(click.ClickException):
    """What the caller asked for is not in the log."""

    exit_code = Exit.NOT_FOUND


class WrongError(click.ClickException):
    """The answer is no."""

    exit_code = Exit.FOUND_WRONG
