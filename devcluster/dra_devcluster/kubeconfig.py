"""The kubeconfig that points kubectl, and our own bridge, at a devcluster."""

from pathlib import Path

import yaml


def write_kubeconfig(path: Path, url: str) -> None:
    """Write a kubeconfig with one context; it holds no secret, for there is none."""
    name = "dra-devcluster"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": url}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
