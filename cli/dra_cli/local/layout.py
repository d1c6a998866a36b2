"""What a local system is made of, and where its files lie."""

from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec

NODES: Final = ("worker-0", "worker-1")
GPUS: Final = 8


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Which processes there are. With more than one of a service, all but one stand by.

    `kubeconfig`: a Kubernetes API server that runs elsewhere, instead of the devcluster's own;
    then `kubelets` says whether the devcluster still plays the nodes' kubelets, which may come as
    somebody else (`kubelet_kubeconfig`). `port`: the API
    server's, 0 for any. `restart`: whether what is killed, or asks for it, is started again.
    """

    nodes: tuple[str, ...] = NODES
    gpus: int = GPUS
    inventories: int = 1
    allocators: int = 1
    bridges: int = 1
    port: int = 0
    kubeconfig: Path | None = None
    kubelet_kubeconfig: Path | None = None
    kubelets: bool = True
    restart: bool = True
    environment: dict[str, str] = {}
    """Set for all services, over what this package sets."""

    @property
    def services(self) -> int:
        """How many processes of our own services there are."""
        return self.inventories + self.allocators + self.bridges + len(self.nodes)


class Folder(msgspec.Struct, frozen=True):
    """Where files lie: `nodes` holds the nodes' own, `kept` the log and what people look at.

    Nodes live as long as one run, like the cluster in memory that they belong to; the log may
    outlive both. The path of `nodes` must be short: unix sockets lie in it.
    """

    nodes: Path
    kept: Path

    @property
    def nats(self) -> Path:
        """JetStream's files and the server's configuration."""
        return self.kept / "nats"

    @property
    def logs(self) -> Path:
        """A log file for each process."""
        return self.kept / "logs"

    @property
    def kubeconfig(self) -> Path:
        """How to reach the devcluster."""
        return self.kept / "kubeconfig"

    @property
    def cluster(self) -> Path:
        """What kubelets and drivers share: sockets and CDI files, a folder for each node."""
        return self.nodes / "cluster"

    def state(self, node: str) -> Path:
        """Where the node's agent keeps its ledger."""
        return self.nodes / "agents" / node

    @property
    def boot_id(self) -> Path:
        """Says that the nodes are new ones: nothing that an earlier run set up is there any more."""
        return self.nodes / "boot-id"

    def make(self) -> None:
        """Makes the folders and files that others expect to be there."""
        for folder in (self.nats, self.logs, self.cluster):
            folder.mkdir(parents=True, exist_ok=True)
        self.boot_id.write_text(f"{uuid4()}\n")
