"""How each part of the system is started: its command, its environment, its sign of readiness."""

import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dra_cli.local.child import Program
from dra_cli.local.layout import Folder, Layout
from dra_cli.local.ports import LOCALHOST

NATS_SERVER: Final = Path(sysconfig.get_path("scripts")) / "nats-server"


def nats(folder: Path, port: int, monitor: int) -> Program:
    """A NATS server with JetStream that forgets nothing in a power cut."""
    config = folder / "nats.conf"
    config.write_text(
        f'listen: "{LOCALHOST}:{port}"\n'
        f'http: "{LOCALHOST}:{monitor}"\n'
        f'jetstream {{ store_dir: "{folder}", sync_interval: always }}\n'
    )
    return Program(
        name="nats",
        command=(str(NATS_SERVER), "-c", str(config)),
        ready=f"http://{LOCALHOST}:{monitor}/healthz?js-server-only=true",
    )


def cluster(folder: Folder, layout: Layout, port: int) -> Program:
    """The devcluster: an API server on `port`, controllers, and the nodes' kubelets."""
    places = ("--root", str(folder.cluster), "--kubeconfig", str(folder.kubeconfig))
    own = (*places, "--port", str(port), *_nodes(layout))
    return Program(
        name="devcluster",
        command=("-m", "dra_devcluster", *own),
        ready=f"http://{LOCALHOST}:{port}/readyz",
    )


def kubelets(folder: Path, layout: Layout, port: int) -> Program:
    """The nodes' kubelets alone, for an API server that runs elsewhere."""
    own = ("--root", str(folder), "--port", str(port), *_nodes(layout))
    who = layout.kubelet_kubeconfig or layout.kubeconfig
    return Program(
        name="kubelets",
        command=("-m", "dra_devcluster.kubelet", "--kubeconfig", str(who), *own),
        ready=f"http://{LOCALHOST}:{port}/healthz",
    )


def service(module: str, name: str, port: int, environment: Mapping[str, str]) -> Program:
    """A service of ours, with its endpoint on `port`."""
    own = {
        "HTTP_HOST": LOCALHOST,
        "HTTP_PORT": str(port),
        "INSTANCE": name,
        "LOG_FORMAT": "json",
    }
    return Program(
        name=name,
        command=("-m", module),
        environment={**own, **environment},
        ready=f"http://{LOCALHOST}:{port}/readyz",
    )


def agent_environment(folder: Folder, layout: Layout, node: str) -> dict[str, str]:
    """Where the agent of a node finds its kubelet, and what devices it pretends."""
    here = folder.cluster / node
    return {
        "NODE_NAME": node,
        "NUM_DEVICES": str(layout.gpus),
        "KUBELET_REGISTRAR_DIRECTORY_PATH": str(here / "plugins_registry"),
        "KUBELET_PLUGINS_DIRECTORY_PATH": str(here / "plugins"),
        "CDI_ROOT": str(here / "cdi"),
        "STATE_DIR": str(folder.state(node)),
        "BOOT_ID_FILE": str(folder.boot_id),
    }


def _nodes(layout: Layout) -> tuple[str, ...]:
    return tuple(word for node in layout.nodes for word in ("--node", node))
