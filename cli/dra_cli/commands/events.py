"""`dra events`: the facts in the log, one a line."""

from contextlib import aclosing
from pathlib import Path
from typing import Final

import click

from dra_cli.commands.options import run, source_options
from dra_cli.core.filters import Filter
from dra_cli.core.nearby import no_such_claim
from dra_cli.core.sentences import line
from dra_cli.edge.logs import Source, opened
from dra_cli.exits import NotFoundError
from dra_shared.log.lines import json_line
from dra_shared.log.protocol import Record

HELP: Final = """\
Show the facts in the log in their order: sequence, time, tag, and what happened.

\b
Examples:
  dra events --follow
  dra events --claim my-ns/my-claim
  dra events --node worker-0 --tag 'device.*'
  dra events --raw | jq .event.fact
"""


@click.command("events", help=HELP)
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option(
    "--claim", default="", metavar="NS/NAME", help="Only the life of this claim (or uid)."
)
@click.option("--node", default="", metavar="NAME", help="Only what concerns this node.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="Only such facts; `*` stands for anything."
)
@click.option("--raw", is_flag=True, help="JSON lines, as they stand in the log.")
@source_options
def command(  # noqa: PLR0913 - one per option, that is how click calls
    *,
    follow: bool,
    claim: str,
    node: str,
    tags: tuple[str, ...],
    raw: bool,
    nats: str,
    log: Path | None,
) -> None:
    """Runs `dra events`."""
    wanted = Filter(claim=claim, node=node, tags=tags)
    run(_events(Source(nats, log), wanted, follow=follow, raw=raw))
    if wanted.found or follow:
        return
    if claim:
        raise NotFoundError(no_such_claim(claim, wanted.claims))
    click.echo("No such facts in the log.", err=True)


async def _events(where: Source, wanted: Filter, *, follow: bool, raw: bool) -> None:
    async with opened(where) as log:
        last = await log.last_sequence()
        async with aclosing(log.read(until=None if follow else last)) as batches:
            async for batch in batches:
                if lines := [_line(record, raw=raw) for record in batch if wanted.takes(record)]:
                    click.echo("\n".join(lines))


def _line(record: Record, *, raw: bool) -> str:
    return json_line(record).decode() if raw else line(record)
