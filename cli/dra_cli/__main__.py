"""`python -m dra_cli`, and the command `dra`. Imports nothing heavy: `dra --help` is at once."""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click

from dra_cli.exits import EXIT_CODES

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "demo": "Run the whole system for some seconds and show that it works.",
        "up": "Run the whole system here until Ctrl-C.",
        "get": "Show devices, pools, claims or nodes as the log tells them.",
        "events": "Show the facts in the log, or follow them.",
        "explain": "Say why a claim has its devices, or why it has none.",
        "allocate": "Decide on manifests, without a cluster or on top of the log: what if?",
        "replay": "Show the state at any place of the log.",
        "verify": "Check the log: no device given twice, every decision derivable again.",
        "export": "Write the log to a file, for a bug report or to look at elsewhere.",
    }
)
"""Each stands in the module of its name in `dra_cli.commands`, which is imported when it is used."""

ABOUT: Final = f"""\
Looks at the log of dra-ledger: every device, claim and decision of a cluster, now or at any moment
before.

The log is at NATS (--nats URL or NATS_URL), or in a file (--log FILE). Nothing is ever written.

\b
  dra demo                              see it work
  dra up                                keep it running, and use kubectl
  dra get claims                        who has what
  dra explain claim my-ns/my-claim      why
  dra events --follow                   what happens

\b
{EXIT_CODES}
"""


class Commands(click.Group):
    """A group whose commands are imported when they are called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which a newcomer needs them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, or None."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"dra_cli.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=Commands,
    name="dra",
    help=ABOUT,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="dra-cli", prog_name="dra")
def main() -> None:
    """The command `dra`; subcommands do the work."""


if __name__ == "__main__":
    main()
