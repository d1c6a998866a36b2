"""Where the control plane's programs lie. Building them is build.py's work, running plane.py's."""

import enum
import os
import re
from pathlib import Path

HERE = Path(__file__).parent
GO_MOD = HERE / "go.mod"


class Part(enum.StrEnum):
    """A server of the control plane, by its program's name, in the order they start."""

    ETCD = "etcd"
    API_SERVER = "kube-apiserver"
    CONTROLLER_MANAGER = "kube-controller-manager"
    SCHEDULER = "kube-scheduler"


KUBECTL = "kubectl"
PROGRAMS = (*Part, KUBECTL)


class ProgramsMissingError(Exception):
    """The programs are not there. The developer must act; the message says how."""


def version() -> str:
    """The Kubernetes version pinned in go.mod, such as `1.37.2`."""
    found = re.search(r"^\s*k8s\.io/kubernetes v(\S+)", GO_MOD.read_text(), re.MULTILINE)
    if found is None:
        raise ProgramsMissingError(f"{GO_MOD} does not require k8s.io/kubernetes")
    return found.group(1)


def cache_folder() -> Path:
    """Where the build puts the programs of this version: outside the tree, shared by checkouts."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "dra-ledger" / "kubernetes" / version()


def missing_in(folder: Path) -> list[str]:
    """The programs that `folder` lacks, by name."""
    return [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]


def program_folder() -> Path:
    """The folder that holds all programs: KUBEBUILDER_ASSETS where set, else the cache.

    The two are never mixed, because a scheduler newer than its API server is not supported.
    Raises ProgramsMissingError.
    """
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    folder = Path(assets) if assets else cache_folder()
    missing = missing_in(folder)
    if missing:
        remedy = (
            "unset KUBEBUILDER_ASSETS to use the programs this project builds"
            if assets
            else "build them once with `PYTHONPATH=tests python -m e2e.controlplane.build`"
        )
        raise ProgramsMissingError(f"{folder} lacks {', '.join(missing)}: {remedy}")
    return folder
