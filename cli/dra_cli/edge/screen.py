"""Tables for people, JSON and YAML for programs."""

import sys
from collections.abc import Sequence
from typing import Any, Final

import click
import msgspec
import yaml
from rich.console import Console
from rich.table import Table

from dra_cli.core.rows import Row

FORMATS: Final = ("table", "json", "yaml")
WIDE: Final = 400
"""Columns when nobody looks: nothing is cut off in a pipe."""


def show_rows(rows: Sequence[Row], output: str, nothing: str) -> None:
    """Prints the rows; `nothing` is said on stderr if there are none and a person looks."""
    if output != "table":
        show_document([msgspec.to_builtins(row) for row in rows], output)
    elif rows:
        show_table(rows)
    else:
        click.echo(nothing, err=True)


def show_document(document: Any, output: str) -> None:
    """Prints a document as JSON or YAML."""
    if output == "yaml":
        click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)
    else:
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def show_table(rows: Sequence[Row]) -> None:
    """Prints a table with the fields of the rows as columns; columns that are all empty are left out."""
    names = [name for name in rows[0].__struct_fields__ if any(_cell(row, name) for row in rows)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        table.add_column(name.upper().replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row, name) or "-" for name in names))
    width = None if sys.stdout.isatty() else WIDE
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as capture:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))


def _cell(row: Row, name: str) -> str:
    value = getattr(row, name)
    match value:
        case bool():
            return "yes" if value else ""
        case tuple():
            return ", ".join(value)
        case None:
            return ""
        case _:
            return str(value)
