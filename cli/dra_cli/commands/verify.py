"""`dra verify`: whether the log holds what it promises."""

from pathlib import Path
from typing import Final

import click
import msgspec

from dra_allocator.core.policy import DEFAULT
from dra_cli.commands.options import at_option, output_option, run, source_options
from dra_cli.core.position import Position
from dra_cli.core.verdict import Verdict, verdict
from dra_cli.edge.logs import Source, opened, records
from dra_cli.edge.screen import show_document, show_table
from dra_cli.exits import WrongError

HELP: Final = """\
Check the log from its first fact on: no device is ever held by two claims, no capacity or counter
exceeded (I1), and every decision and every recorded state follows from the facts before it (I2).

It derives all decisions again, which takes about as long as making them did. The exit code is 1 if
anything is wrong.

\b
Examples:
  dra verify
  dra verify --log ledger.jsonl -o json
"""


@click.command("verify", help=HELP)
@click.option(
    "--policy",
    default=DEFAULT,
    show_default=True,
    help="The allocator's policy, for refusals, which do not name it.",
)
@at_option
@output_option
@source_options
def command(policy: str, at: Position, output: str, nats: str, log: Path | None) -> None:
    """Runs `dra verify`."""
    run(_verify(policy, at, output, Source(nats, log)))


async def _verify(policy: str, at: Position, output: str, where: Source) -> None:
    async with opened(where) as log:
        found = verdict([record async for record in records(log, at)], policy)
    if output == "table":
        show_verdict(found)
    else:
        show_document(msgspec.to_builtins(found), output)
    if found.findings:
        raise WrongError(f"the log of {where} is not as it should be")


def show_verdict(found: Verdict) -> None:
    """Prints the findings, if there are any, and the verdict."""
    if found.findings:
        show_table(found.findings)
    click.echo(found.line)
