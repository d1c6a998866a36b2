"""`dra replay`: the state at any place of the log."""

from pathlib import Path
from typing import Final

import click

from dra_cli.commands.options import at_option, output_option, run, source_options
from dra_cli.core.picture import Picture
from dra_cli.core.position import Position
from dra_cli.core.statement import document, statement
from dra_cli.edge.logs import Source, opened, records
from dra_cli.edge.screen import show_document, show_table

HELP: Final = """\
Show the state that the facts up to a place add up to, and its hash.

The hash is the one that the allocator had there: the same log gives the same hash on any machine.
The table counts; -o json shows all of it.

\b
Examples:
  dra replay
  dra replay --at 1234 -o json
"""


@click.command("replay", help=HELP)
@at_option
@output_option
@source_options
def command(at: Position, output: str, nats: str, log: Path | None) -> None:
    """Runs `dra replay`."""
    run(_replay(at, output, Source(nats, log)))


async def _replay(at: Position, output: str, where: Source) -> None:
    picture = Picture()
    async with opened(where) as log:
        async for record in records(log, at):
            picture.apply(record)
    if output != "table":
        show_document(document(picture), output)
        return
    show_table(statement(picture))
    click.echo()
    click.echo(f"sequence        {picture.sequence}")
    click.echo(f"allocator hash  {picture.allocator_hash}")
    click.echo(f"inventory hash  {picture.inventory_hash}")
