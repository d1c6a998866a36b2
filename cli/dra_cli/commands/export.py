"""`dra export`: the log as a file of JSON lines."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import click

from dra_cli.commands.options import at_option, run, source_options
from dra_cli.core.position import Position
from dra_cli.edge.logs import Source, opened, records
from dra_shared.log.lines import json_line

HELP: Final = """\
Write the log to FILE, one JSON object a line; all commands read it with --log FILE.

It holds names of nodes, namespaces, pods and claims, and the parameters of claims, but no
secrets.

\b
Example:
  dra export ledger.jsonl && dra verify --log ledger.jsonl
"""


@click.command("export", help=HELP)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@at_option
@source_options
def command(file: Path, at: Position, nats: str, log: Path | None) -> None:
    """Runs `dra export`."""
    run(_export(file, at, Source(nats, log)))


async def _export(file: Path, at: Position, where: Source) -> None:
    count = 0
    async with opened(where) as log:
        with _new(file) as lines:
            async for record in records(log, at):
                lines.write(json_line(record) + b"\n")
                count += 1
    click.echo(f"{count} facts of {where} are in {file}", err=True)


@contextmanager
def _new(file: Path) -> Iterator[BinaryIO]:
    """A file that was not there before, and is not there after if it did not get whole."""
    try:
        lines = file.open("xb")
    except FileExistsError as error:
        message = f"{file} is there already; choose another name or remove it"
        raise click.UsageError(message) from error
    except OSError as error:
        raise click.UsageError(f"{file} cannot be made: {error.strerror}") from error
    try:
        with lines:
            yield lines
    except BaseException:
        file.unlink(missing_ok=True)
        raise
