"""`python -m e2e.controlplane up`: keeps one control plane running for a developer.

Prints the kubeconfig to use; ends on Ctrl-C and leaves nothing behind.
"""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from e2e.controlplane.commands import Options
from e2e.controlplane.identities import Identity
from e2e.controlplane.plane import ControlPlane
from e2e.controlplane.programs import Part, ProgramsMissingError
from e2e.controlplane.server import StartError

DEPLOY = Path(__file__).parents[3] / "deploy"


def parse(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m e2e.controlplane")
    commands = parser.add_subparsers(required=True)
    up = commands.add_parser("up", help="start a control plane and keep it until Ctrl-C")
    up.add_argument("--nodes", type=int, default=0, help="how many object-only nodes to create")
    up.add_argument("--no-scheduler", action="store_true", help="leave kube-scheduler out")
    up.add_argument(
        "--policies", action="store_true", help="install deploy/policies and deploy/rbac"
    )
    return parser.parse_args(words)


async def up(wanted: argparse.Namespace) -> None:
    """Runs a control plane until SIGINT or SIGTERM."""
    stopped = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stopped.set)
    parts = frozenset(Part) - ({Part.SCHEDULER} if wanted.no_scheduler else set())
    async with ControlPlane(Options(parts=parts)) as plane:
        if wanted.policies:
            await plane.install(DEPLOY / "rbac", DEPLOY / "policies")
        await asyncio.gather(*(plane.add_node(f"node-{i}") for i in range(wanted.nodes)))
        others = (
            f"# {who}: {plane.kubeconfig(who)}\n" for who in Identity if who != Identity.ADMIN
        )
        sys.stdout.write(f"export KUBECONFIG={plane.kubeconfig()}\n{''.join(others)}")
        sys.stdout.flush()
        await stopped.wait()


def main() -> int:
    """Runs the command and returns the exit code."""
    wanted = parse(sys.argv[1:])
    try:
        asyncio.run(up(wanted))
    except (ProgramsMissingError, StartError) as failure:
        sys.stderr.write(f"error: {failure}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
