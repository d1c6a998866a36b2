"""`dra get`: tables of what there is, folded from the log."""

from pathlib import Path
from typing import Final

import click

from dra_cli.commands.options import at_option, output_option, run, source_options
from dra_cli.core.picture import Picture
from dra_cli.core.position import Position
from dra_cli.core.rows import ROWS
from dra_cli.edge.logs import Source, opened, records
from dra_cli.edge.screen import show_rows

HELP: Final = """\
Show devices, pools, claims or nodes as the log tells them, now or at an earlier moment.

\b
Examples:
  dra get claims
  dra get devices --at 2026-11-30T15:04:05Z
  dra get nodes -o json --log ledger.jsonl
"""


@click.command("get", help=HELP)
@click.argument("what", type=click.Choice(tuple(ROWS)))
@at_option
@output_option
@source_options
def command(what: str, at: Position, output: str, nats: str, log: Path | None) -> None:
    """Runs `dra get`."""
    run(_get(what, at, output, Source(nats, log)))


async def _get(what: str, at: Position, output: str, where: Source) -> None:
    picture = Picture()
    async with opened(where) as log:
        async for record in records(log, at):
            picture.apply(record)
    show_rows(list(ROWS[what](picture)), output, f"No {what} in {where}.")
