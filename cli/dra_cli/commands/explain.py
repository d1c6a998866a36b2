"""`dra explain`: why a claim has its devices, or why it has none."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click
import msgspec

from dra_cli.commands.options import at_option, output_option, run, source_options
from dra_cli.core.explanation import Explanation, explain
from dra_cli.core.filters import claims_of
from dra_cli.core.nearby import no_such_claim
from dra_cli.core.position import Position
from dra_cli.edge.logs import Source, opened, records
from dra_cli.edge.screen import show_document, show_table
from dra_cli.exits import NotFoundError
from dra_shared.ids import ObjectRef

HELP: Final = """\
Say why something is as it is.

\b
Examples:
  dra explain claim my-ns/my-claim
  dra explain claim my-ns/my-claim --at 1234
"""

CLAIM_HELP: Final = """\
Say why the claim NS/NAME (or a uid) has its devices, or why it has none.

It shows the last decision on the claim, what the claim got, and how many devices were free, in use,
not selected and so on when it was decided. Both are derived from the log by the allocator's own
rules, so they hold for any moment of the past.

\b
Examples:
  dra explain claim my-ns/my-claim
  dra explain claim my-ns/my-claim --at 2026-11-30T15:04:05Z
  dra explain claim my-ns/my-claim --as-namespace my-ns    as a user of my-ns may see it
"""


@click.group("explain", help=HELP)
def command() -> None:
    """Runs `dra explain`."""


@command.command("claim", help=CLAIM_HELP)
@click.argument("name", metavar="NS/NAME")
@click.option(
    "--as-namespace",
    "namespace",
    default="",
    metavar="NS",
    help="Show what a user of this namespace may see: no claim of another, not even its name.",
)
@at_option
@output_option
@source_options
def claim(  # noqa: PLR0913 - one per option, that is how click calls
    *, name: str, namespace: str, at: Position, output: str, nats: str, log: Path | None
) -> None:
    """Runs `dra explain claim`."""
    run(_explain(name, namespace, at, output, Source(nats, log)))


async def _explain(name: str, namespace: str, at: Position, output: str, where: Source) -> None:
    async with opened(where) as log:
        known = [record async for record in records(log, at)]
    claims = {ref for record in known for ref in claims_of(record.envelope.fact)}
    visible = {ref for ref in claims if namespace in ("", ref.namespace)}
    found = explain(known, name) if _names_one(name, visible) else None
    if found is None:
        raise NotFoundError(no_such_claim(name, map(str, visible)))
    if output == "table":
        _show(found)
    else:
        show_document(msgspec.to_builtins(found), output)


def _names_one(name: str, claims: Iterable[ObjectRef]) -> bool:
    return any(name in (str(ref), ref.uid) for ref in claims)


def _show(found: Explanation) -> None:
    click.echo(f"{found.claim}: {found.answer} (sequence {found.sequence}, {found.time})")
    for rows in (found.grants, found.saw):
        if rows:
            click.echo()
            show_table(rows)
