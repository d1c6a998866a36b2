"""Everything that can be chosen about a devcluster, read once from the command line."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from dra_devcluster.kubelet.place import NODE_FORM, Place, parse_place

DESCRIPTION: Final = """\
A pocket Kubernetes in one process, for local work on dynamic resource allocation (DRA).

It runs an API server, the claim controller, the scheduler, owner-reference garbage collection and,
for every --node, a kubelet stand-in. Pods run no commands: their containers count as running until
they are deleted, and their log is the environment they would have had, CDI edits included.
Everything is in memory and gone when it stops. Do not expose it: it asks nobody who they are."""
EPILOG: Final = """\
example, with a driver's sockets below ./nodes/node-a:

  python -m dra_devcluster --port 8001 --root ./nodes --node node-a --node node-b,cpu=4,memory=8Gi
  export KUBECONFIG=./nodes/kubeconfig
  kubectl get nodes

below --root, for every node:
  NODE/plugins_registry/   where a driver puts its registration socket
  NODE/plugins/            where it puts its own socket, by custom
  NODE/cdi/                where it writes CDI files"""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What one devcluster is made of."""

    root: Path
    nodes: tuple[Place, ...] = ()
    host: str = "127.0.0.1"
    port: int = 0
    kubelet_port: int = 0
    kubeconfig: Path | None = None
    kubelet: bool = True
    wipe_slices: bool = True

    @property
    def kubeconfig_path(self) -> Path:
        """Where the kubeconfig goes."""
        return self.kubeconfig or self.root / "kubeconfig"


def parse_arguments(arguments: Sequence[str]) -> Settings:
    """The settings a command line asks for; exits with a usage message if it makes no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m dra_devcluster",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--root", type=Path, required=True, help="folder for sockets, CDI files and kubeconfig")
    add("--node", type=parse_place, action="append", default=[], dest="nodes",
        metavar=NODE_FORM, help="pretend this node (repeatable)")  # fmt: skip
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    add(
        "--port", type=int, default=8001, help="API server's port, 0 for any (default: %(default)s)"
    )
    add("--kubelet-port", type=int, default=0, help="kubelet stand-in's port (default: any)")
    add("--kubeconfig", type=Path, help="where to write it (default: ROOT/kubeconfig)")
    add(
        "--no-kubelet", action="store_false", dest="kubelet", help="API server and controllers only"
    )
    add("--keep-slices", action="store_false", dest="wipe_slices",
        help="leave ResourceSlices of a driver that went away")  # fmt: skip
    return msgspec.convert(vars(parser.parse_args(arguments)), Settings)
