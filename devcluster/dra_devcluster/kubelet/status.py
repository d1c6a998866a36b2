"""What a kubelet says about a pod and its containers. Pure: objects and times in, status out."""

from collections.abc import Iterator
from typing import Any

from dra_devcluster.kubelet.client import Object

READY = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


def starting(pod: Object, reason: str, message: str, now: str) -> Object:
    """The status of a pod whose containers wait for something."""
    waiting: Object = {"waiting": {"reason": reason}}
    if message:
        waiting["waiting"]["message"] = message
    return {
        "phase": "Pending",
        "startTime": _started(pod, now),
        "initContainerStatuses": list(_each(pod, "initContainers", waiting, ready=False)),
        "containerStatuses": list(_each(pod, "containers", waiting, ready=False)),
    }


def running(pod: Object, host: str, now: str) -> Object:
    """The status of a pod whose init containers are over and whose containers run."""
    ended = {
        "terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    }
    return {
        "phase": "Running",
        "startTime": _started(pod, now),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": host,
        "podIPs": [{"ip": host}],
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": now} for kind in READY
        ],
        "initContainerStatuses": list(_each(pod, "initContainers", ended, ready=True)),
        "containerStatuses": list(
            _each(pod, "containers", {"running": {"startedAt": now}}, ready=True)
        ),
    }


def _started(pod: Object, now: str) -> Any:
    return pod.get("status", {}).get("startTime", now)


def _each(pod: Object, group: str, state: Object, *, ready: bool) -> Iterator[Object]:
    for container in pod["spec"].get(group, []):
        yield {
            "name": container["name"],
            "state": state,
            "lastState": {},
            "ready": ready,
            "started": ready and "running" in state,
            "restartCount": 0,
            "image": container["image"],
            "imageID": "",
            "containerID": f"devcluster://{pod['metadata']['uid']}/{container['name']}",
        }


def failure_event(pod: Object, node: str, reason: str, message: str, now: str) -> Object:
    """The event that tells a user what keeps the pod from starting or ending."""
    metadata = pod["metadata"]
    return {
        "metadata": {"generateName": f"{metadata['name']}.", "namespace": metadata["namespace"]},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": node},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "reportingComponent": "kubelet",
        "reportingInstance": node,
    }
