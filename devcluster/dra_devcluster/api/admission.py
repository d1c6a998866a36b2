"""The policies a real cluster gets from ``deploy/policies``, built in.

Pods that use claims wait behind our scheduling gate, claims carry the finalizer from birth. And
one habit of Kubernetes' own: a gated pod says so in its conditions. A namespace opts out by its
label.
"""

from collections.abc import Mapping
from typing import Any, Final

from dra_devcluster.api.conditions import with_condition
from dra_devcluster.api.resources import CLAIMS, PODS, Object, Resource

GATE: Final = "dra-ledger.io/allocation"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
GATED: Final = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
IGNORE_LABEL: Final = "dra-ledger.io/ignore"


def admit(resource: Resource, obj: Object, namespace_labels: Mapping[str, str]) -> None:
    """Change a new object as the policies would; objects of other kinds stay as they are."""
    if namespace_labels.get(IGNORE_LABEL) != "true":
        _apply_policies(resource, obj)
    if resource == PODS and obj["spec"].get("schedulingGates"):
        obj["status"] = with_condition(obj["status"], GATED)


def _apply_policies(resource: Resource, obj: Object) -> None:
    if resource == PODS and obj["spec"].get("resourceClaims"):
        _add_once(obj["spec"].setdefault("schedulingGates", []), {"name": GATE})
    elif resource == CLAIMS:
        _add_once(obj["metadata"].setdefault("finalizers", []), FINALIZER)


def _add_once(items: list[Any], item: Any) -> None:
    if item not in items:
        items.append(item)
