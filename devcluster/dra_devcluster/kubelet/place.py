"""One node as the stand-in pretends it: its name, its size, its folders, its address."""

import argparse
from pathlib import Path
from typing import Final

import msgspec

from dra_devcluster.api.names import SUBDOMAIN_RULE, is_subdomain
from dra_devcluster.kubelet.client import Object
from dra_shared.quantity import parse_quantity

SOCKET_PATH_LIMIT: Final = 107
TYPICAL_SOCKET: Final = "gpu.example.com-reg.sock"
NODE_FORM: Final = "NAME[,cpu=8][,memory=32Gi][,pods=110]"
VERSION: Final = "v1.37.2-devcluster"
ZONE_LABELS: Final = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
NODE_INFO_FIELDS: Final = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "kubeProxyVersion",
)


class PathTooLongError(Exception):
    """No socket can lie that deep. The operator must choose a shorter root."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"a socket such as {path} would have a path of more than {SOCKET_PATH_LIMIT} bytes,"
            " which no system allows: choose a shorter root folder"
        )


class FolderError(Exception):
    """A node's folder cannot be made. The operator must choose another root."""

    def __init__(self, problem: OSError) -> None:
        super().__init__(
            f"the folder {problem.filename} cannot be made ({problem.strerror}):"
            " choose another root folder"
        )


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A node. Below ``folder``, which is named like it, lie ``plugins_registry``, ``plugins`` and ``cdi``."""

    name: str
    root: Path = Path()
    cpu: str = "8"
    memory: str = "32Gi"
    pods: str = "110"
    host: str = "127.0.0.1"
    port: int = 0

    @property
    def folder(self) -> Path:
        """The node's own folder."""
        return self.root / self.name

    @property
    def plugins_registry(self) -> Path:
        """Where drivers put their registration sockets."""
        return self.folder / "plugins_registry"

    @property
    def cdi(self) -> Path:
        """Where drivers put their CDI files."""
        return self.folder / "cdi"

    def make_folders(self) -> None:
        """Make what a driver expects to find. Raises ``PathTooLongError``, ``FolderError``."""
        longest = self.plugins_registry.absolute() / TYPICAL_SOCKET
        if len(str(longest).encode()) > SOCKET_PATH_LIMIT:
            raise PathTooLongError(longest)
        for folder in (self.plugins_registry, self.folder / "plugins", self.cdi):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise FolderError(problem) from problem


def parse_place(text: str) -> Place:
    """``NAME[,cpu=8][,memory=32Gi][,pods=110]`` as a node. Raises ``ArgumentTypeError``."""
    name, *pairs = text.split(",")
    if not is_subdomain(name):
        message = f"{text!r}: {name!r} is no name for a node: {SUBDOMAIN_RULE}"
        raise argparse.ArgumentTypeError(message)
    try:
        sizes = dict(pair.split("=", maxsplit=1) for pair in pairs)
        if unknown := sizes.keys() - {"cpu", "memory", "pods"}:
            raise argparse.ArgumentTypeError(f"{text!r}: unknown {', '.join(sorted(unknown))}")
        for amount in sizes.values():
            parse_quantity(amount)
        return msgspec.convert({"name": name, **sizes}, Place)
    except ValueError as wrong:
        problem = f"{text!r} is not {NODE_FORM}: {wrong}"
        raise argparse.ArgumentTypeError(problem) from wrong


def node_object(place: Place) -> Object:
    """The Node as a kubelet first creates it."""
    labels = {"kubernetes.io/hostname": place.name, **ZONE_LABELS}
    return {"metadata": {"name": place.name, "labels": labels}, "spec": {}}


def node_status(place: Place, now: str) -> Object:
    """The Node's status: ready, its size, and where its logs are served."""
    amounts = {"cpu": place.cpu, "memory": place.memory, "pods": place.pods}
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "the kubelet stand-in is posting ready status",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    return {
        "addresses": [
            {"type": "InternalIP", "address": place.host},
            {"type": "Hostname", "address": place.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": place.port}},
        "capacity": amounts,
        "allocatable": amounts,
        "conditions": [ready],
        "nodeInfo": {
            **dict.fromkeys(NODE_INFO_FIELDS, ""),
            "kubeletVersion": VERSION,
            "containerRuntimeVersion": "devcluster://0",
            "osImage": "dra-ledger devcluster",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }
