"""The command line of the kubelet stand-in alone."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dra_devcluster.kubelet.connection import KubeconfigError, from_kubeconfig
from dra_devcluster.kubelet.place import NODE_FORM, FolderError, PathTooLongError, parse_place
from dra_devcluster.kubelet.service import WIPE_AFTER_SECONDS, KubeletSettings, run_kubelets
from dra_devcluster.listener import PortTakenError
from dra_devcluster.signals import until_told

DESCRIPTION: Final = """\
A stand-in for the kubelets of some nodes, for tests of DRA drivers and of the bridge.

It registers the nodes with any Kubernetes API server, talks to drivers as a kubelet does, and
serves each container's environment as its log: on its own port, under
/containerLogs/NAMESPACE/POD/CONTAINER. It runs nothing."""


def main(words: Sequence[str]) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m dra_devcluster.kubelet",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--kubeconfig", type=Path, required=True, help="how to reach the API server")
    add("--root", type=Path, required=True, help="folder of the nodes' folders")
    add("--node", type=parse_place, action="append", required=True, dest="nodes",
        metavar=NODE_FORM, help="pretend this node (repeatable)")  # fmt: skip
    add("--port", type=int, default=0, help="port for logs (default: any)")
    add("--wipe-after", type=float, default=WIPE_AFTER_SECONDS, metavar="SECONDS",
        help="delete ResourceSlices of a driver away for so long (default: %(default)s)")  # fmt: skip
    add("--keep-slices", action="store_const", const=None, dest="wipe_after",
        help="never delete ResourceSlices")  # fmt: skip
    wanted = parser.parse_args(words)
    settings = KubeletSettings(
        root=wanted.root,
        places=wanted.nodes,
        port=wanted.port,
        wipe_after=wanted.wipe_after,
    )
    try:
        asyncio.run(until_told(run_kubelets(from_kubeconfig(wanted.kubeconfig), settings)))
    except (KubeconfigError, FolderError, PathTooLongError, PortTakenError) as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 2
    return 0
