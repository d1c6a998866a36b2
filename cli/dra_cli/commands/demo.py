"""`dra demo`: the whole system for some seconds, with a verdict."""

import tempfile
import time
from pathlib import Path
from typing import Final

import click

from dra_allocator.core.policy import DEFAULT
from dra_cli.commands.options import run
from dra_cli.commands.verify import show_verdict
from dra_cli.core.verdict import verdict
from dra_cli.demo.cluster import DemoCluster, NotInTimeError, Seen
from dra_cli.demo.expectations import findings
from dra_cli.demo.manifests import EXAMPLES, NoExamplesError, load
from dra_cli.demo.report import heading, tell
from dra_cli.edge.rest import Api, ApiAwayError, ApiRefusedError, Object
from dra_cli.exits import WrongError
from dra_cli.local.child import NotReadyError, ProgramEndedError, tail
from dra_cli.local.layout import Layout
from dra_cli.local.system import LocalSystem

SHOWN: Final = range(1, 7)
"""Which examples."""

HELP: Final = """\
Run the whole system on this machine, apply examples 1 to 6, and show what comes of them.

NATS, a pocket Kubernetes, inventory, allocator, API bridge and two node agents run as processes of
their own in a temporary folder; then all is stopped and removed. Nothing needs to be installed.

It ends with exit code 0 only if each container saw the devices it should, and the log verifies.

\b
Examples:
  dra demo
  dra demo | less
"""


@click.command("demo", help=HELP)
@click.option(
    "--examples",
    type=click.Path(path_type=Path),
    default=EXAMPLES,
    help="The folder of the examples, if it is not that of this checkout.",
)
def command(examples: Path) -> None:
    """Runs `dra demo`."""
    try:
        manifests = load(examples, SHOWN)
    except NoExamplesError as error:
        raise click.UsageError(str(error)) from error
    run(_demo(manifests))


async def _demo(manifests: list[Object]) -> None:
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dra-") as folder:
        system = LocalSystem(Path(folder), Layout(restart=False))
        try:
            seen = await _run(system, manifests, begin)
        except (ProgramEndedError, NotReadyError, ApiRefusedError) as error:
            raise WrongError(str(error)) from error
        except (NotInTimeError, ApiAwayError) as error:
            message = f"{error}\n{_tails(system.folder.logs)}"
            raise WrongError(message) from error
    wrong = _judge(seen, system.layout.gpus)
    _progress(begin, "stopped and removed")
    if wrong:
        raise WrongError("\n".join(("not as it should be:", *wrong)))


async def _run(system: LocalSystem, manifests: list[Object], begin: float) -> Seen:
    _progress(begin, "starting NATS, devcluster, inventory, allocator, API bridge, 2 node agents")
    async with system, Api(system.api_url) as api:
        cluster = DemoCluster(system, api)
        await cluster.offered()
        _progress(begin, "all are ready, the nodes offer their devices; applying the examples")
        await cluster.apply(manifests)
        await cluster.settled()
        seen = await cluster.look()
        _progress(begin, f"{len(seen.pods)} pods run with {len(seen.claims)} claims")
        tell(seen)
        return seen


def _judge(seen: Seen, gpus: int) -> list[str]:
    heading("dra verify")
    found = verdict(seen.records, DEFAULT)
    show_verdict(found)
    wrong = [*findings(seen.containers, gpus), *(finding.what for finding in found.findings)]
    if not wrong:
        click.echo(f"{len(seen.containers)} containers: each saw the GPUs it should, and no other")
    return wrong


def _progress(begin: float, what: str) -> None:
    click.secho(f"[{time.monotonic() - begin:4.1f} s] {what}", err=True, dim=True)


def _tails(logs: Path) -> str:
    return "\n".join(f"the end of {log.name}:\n{tail(log)}" for log in sorted(logs.iterdir()))
