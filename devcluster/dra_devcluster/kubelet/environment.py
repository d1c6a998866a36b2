"""A container's environment, and how ``export`` in bash would print it. Pure text."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dra_devcluster.kubelet.cdi import Edits
from dra_devcluster.kubelet.client import Object

ALWAYS: Final = {
    "HOME": "/root",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
ESCAPED: Final = str.maketrans({char: f"\\{char}" for char in '"$`\\'})


def environment(pod: Object, container: Object, edits: Edits) -> dict[str, str]:
    """Name to value: the runtime's own, then the container's, then what CDI adds."""
    own = {entry["name"]: _value(pod, entry) for entry in container.get("env", [])}
    return {**ALWAYS, "HOSTNAME": pod["metadata"]["name"], **own, **dict(edits.environment)}


def _value(pod: Object, entry: Object) -> str:
    """A literal, or a field of the pod; other sources read as empty."""
    path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
    if path is None:
        return str(entry.get("value", ""))
    found: Any = pod
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return "" if found is None else str(found)


def log_lines(variables: Mapping[str, str], edits: Edits) -> Iterator[str]:
    """``declare -x NAME="value"`` by name, then device nodes and mounts as comments."""
    for name in sorted(variables):
        yield f'declare -x {name}="{variables[name].translate(ESCAPED)}"'
    for path in edits.device_nodes:
        yield f"# device node {path}"
    for host, inside in edits.mounts:
        yield f"# mount {host} at {inside}"
