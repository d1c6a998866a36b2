"""The few words that ``kubectl get pods`` says about a pod, and how they are chosen."""

from typing import Any

from dra_devcluster.api.conditions import condition
from dra_devcluster.api.resources import Object


def pod_ready(pod: Object) -> str:
    """``1/2``: ready containers of all."""
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return f"{sum(bool(entry.get('ready')) for entry in statuses)}/{len(pod['spec']['containers'])}"


def pod_restarts(pod: Object) -> str:
    """The number of restarts of all containers."""
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return str(sum(entry.get("restartCount", 0) for entry in statuses))


def pod_words(pod: Object) -> str:
    """One word for where the pod is in its life."""
    status = pod.get("status", {})
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    scheduled = condition(status, "PodScheduled")
    if scheduled and scheduled.get("reason") == "SchedulingGated":
        return "SchedulingGated"
    waiting = _waiting(status.get("initContainerStatuses", []))
    if waiting:
        return f"Init:{waiting}"
    word = _waiting(status.get("containerStatuses", [])) or status.get("reason")
    return str(word or status.get("phase", "Unknown"))


def _waiting(statuses: list[Object]) -> Any:
    reasons = (entry.get("state", {}).get("waiting", {}).get("reason") for entry in statuses)
    return next(filter(None, reasons), "")
