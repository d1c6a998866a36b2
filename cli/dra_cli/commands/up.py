"""`dra up`: the whole system until Ctrl-C."""

import asyncio
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click

from dra_cli.commands.options import run
from dra_cli.demo.manifests import EXAMPLES
from dra_cli.exits import WrongError
from dra_cli.local.child import NotReadyError, ProgramEndedError
from dra_cli.local.hold import FolderError, held
from dra_cli.local.layout import GPUS, Layout
from dra_cli.local.ports import PortTakenError
from dra_cli.local.system import LocalSystem

HELP: Final = """\
Run the whole system on this machine until Ctrl-C, for kubectl and for `dra` in another shell.

What is killed, or asks to be started again, is: try `kill -9` on any process.

\b
Examples:
  dra up
  dra up --nodes 3 --gpus 4 --port 8001
  dra up --dir ledger                    keep the log, and the processes' logs, there

The cluster is in memory and gone with it; a log that is kept goes on with the next cluster.
"""

HOW: Final = """\
export KUBECONFIG={kubeconfig}
export NATS_URL={nats}

Set these two in another shell, and then:
  kubectl apply -f {examples}/deviceclass-gpu.yaml
  kubectl apply -f {examples}/01-basic-resourceclaimtemplate.yaml
  kubectl logs -n basic-resourceclaimtemplate pod0 | grep GPU_DEVICE
  dra events --follow
  dra get devices

The processes' logs are in {logs}. Ctrl-C stops everything."""


@click.command("up", help=HELP)
@click.option(
    "--nodes", type=click.IntRange(1, 50), default=2, show_default=True, help="How many there are."
)
@click.option(
    "--gpus", type=click.IntRange(0, 128), default=GPUS, show_default=True, help="On each node."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Of the API server; 0 for any."
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keeps the log and the processes' logs here, instead of in a folder that is removed.",
)
def command(nodes: int, gpus: int, port: int, folder: Path | None) -> None:
    """Runs `dra up`."""
    names = tuple(f"worker-{number}" for number in range(nodes))
    layout = Layout(nodes=names, gpus=gpus, port=port)
    with ExitStack() as stack:
        here = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dra-")))
        try:
            stack.enter_context(held(folder or here))
            system = LocalSystem(here, layout, keep=folder)
        except (FolderError, PortTakenError) as error:
            raise click.UsageError(str(error)) from error
        run(_up(system))


async def _up(system: LocalSystem) -> None:
    serving = asyncio.create_task(_serve(system))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        click.echo("stopped", err=True)
    except (ProgramEndedError, NotReadyError) as error:
        raise WrongError(str(error)) from error


async def _serve(system: LocalSystem) -> None:
    click.echo("starting ...", err=True)
    async with system:
        click.echo(
            HOW.format(
                kubeconfig=system.kubeconfig,
                nats=system.nats_url,
                examples=EXAMPLES,
                logs=system.folder.logs,
            )
        )
        await system.supervisor.failure()
