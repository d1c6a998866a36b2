"""What the demo prints, in its order: slices, claims, each pod's environment, one claim's life."""

from collections.abc import Iterable, Sequence
from typing import Final

import click

from dra_cli.core.filters import Filter
from dra_cli.core.sentences import line
from dra_cli.demo import objects
from dra_cli.demo.cluster import Seen
from dra_cli.demo.environment import driver_lines
from dra_cli.edge.screen import show_table
from dra_shared.log.protocol import Record

CLAIM: Final = "basic-shared-claim-across-pods/single-gpu"
"""Whose life is told."""


def tell(seen: Seen) -> None:
    """Prints everything but the verdict."""
    heading("ResourceSlices")
    show_table([objects.slice_row(found) for found in _by_name(seen.slices)])
    heading("ResourceClaims")
    show_table([objects.claim_row(claim) for claim in _by_name(seen.claims)])
    for name, log in sorted(seen.logs.items()):
        namespace, pod, container = name.split("/")
        heading(f"kubectl logs -n {namespace} {pod} -c {container}")
        click.echo("\n".join(driver_lines(log)))
    heading(f"dra events --claim {CLAIM}")
    tell_life(seen.records, CLAIM)


def tell_life(records: Iterable[Record], claim: str) -> None:
    """Prints the facts of one claim."""
    wanted = Filter(claim=claim)
    for record in records:
        if wanted.takes(record):
            click.echo(line(record))


def heading(text: str) -> None:
    """Prints a heading."""
    click.echo()
    click.secho(text, bold=True)


def _by_name(found: Sequence[objects.Object]) -> list[objects.Object]:
    def key(obj: objects.Object) -> tuple[str, str]:
        return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

    return sorted(found, key=key)
