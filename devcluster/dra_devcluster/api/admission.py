"""The policies a real cluster gets from ``deploy/policies``, built in.

Pods that use claims wait behind our scheduling gate, claims carry the finalizer from birth. And
two habits of Kubernetes' own: a new node is tainted until its kubelet says that it is ready, and a
gated pod says so in its conditions.
"""

from typing import Any, Final

from dra_devcluster.api.conditions import with_condition
from dra_devcluster.api.resources import CLAIMS, NODES, PODS, Object, Resource

GATE: Final = "dra-ledger.io/allocation"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
GATED: Final = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def admit(resource: Resource, obj: Object) -> None:
    """Change a new object as the policies would; objects of other kinds stay as they are."""
    if resource == PODS:
        _admit_pod(obj)
    elif resource == CLAIMS:
        _add_once(obj["metadata"].setdefault("finalizers", []), FINALIZER)
    elif resource == NODES:
        _add_once(obj["spec"].setdefault("taints", []), dict(NOT_READY))


def _admit_pod(pod: Object) -> None:
    if pod["spec"].get("resourceClaims"):
        _add_once(pod["spec"].setdefault("schedulingGates", []), {"name": GATE})
    if pod["spec"].get("schedulingGates"):
        pod["status"] = with_condition(pod["status"], GATED)


def _add_once(items: list[Any], item: Any) -> None:
    if item not in items:
        items.append(item)
