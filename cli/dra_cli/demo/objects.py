"""Kubernetes objects as rows for people: what kubectl would show of them. Pure."""

from collections.abc import Sequence
from typing import Any

from dra_cli.core.rows import Row

Object = dict[str, Any]


class SliceRow(Row, frozen=True, kw_only=True):
    """A ResourceSlice."""

    name: str
    node: str
    driver: str
    pool: str
    devices: int


class KubeClaimRow(Row, frozen=True, kw_only=True):
    """A ResourceClaim with the state that kubectl shows."""

    namespace: str
    name: str
    state: str
    devices: tuple[str, ...]
    reserved_for: tuple[str, ...]


def slice_row(found: Object) -> SliceRow:
    """The row of a ResourceSlice."""
    spec = found["spec"]
    return SliceRow(
        name=found["metadata"]["name"],
        node=spec.get("nodeName", ""),
        driver=spec["driver"],
        pool=spec["pool"]["name"],
        devices=len(spec.get("devices") or ()),
    )


def claim_row(claim: Object) -> KubeClaimRow:
    """The row of a ResourceClaim."""
    status = claim.get("status") or {}
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or []
    return KubeClaimRow(
        namespace=claim["metadata"]["namespace"],
        name=claim["metadata"]["name"],
        state=claim_state(claim),
        devices=tuple(f"{result['pool']}/{result['device']}" for result in results),
        reserved_for=tuple(consumer["name"] for consumer in status.get("reservedFor") or ()),
    )


def claim_state(claim: Object) -> str:
    """The state as kubectl prints it, such as `allocated,reserved`."""
    status = claim.get("status") or {}
    words = [
        "deleted" if claim["metadata"].get("deletionTimestamp") else "",
        "allocated" if status.get("allocation") else "",
        "reserved" if status.get("reservedFor") else "",
    ]
    return ",".join(word for word in words if word) or "pending"


def containers(pod: Object) -> Sequence[str]:
    """The names of all containers of a pod, init containers first."""
    spec = pod["spec"]
    both = (*spec.get("initContainers", ()), *spec["containers"])
    return [str(container["name"]) for container in both]


def pod_name(pod: Object) -> str:
    """`namespace/name` of a pod."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def not_running(pods: Sequence[Object]) -> list[str]:
    """The pods that do not run yet, each with what Kubernetes says about it."""
    return [
        f"{pod_name(pod)} ({_says(pod)})"
        for pod in pods
        if (pod.get("status") or {}).get("phase") != "Running"
    ]


def _says(pod: Object) -> str:
    status = pod.get("status") or {}
    phase = str(status.get("phase", "unknown"))
    messages = (
        str(condition.get("message") or condition.get("reason") or "")
        for condition in status.get("conditions") or ()
        if condition["status"] != "True"
    )
    return next((message for message in messages if message), phase)
