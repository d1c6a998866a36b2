"""Binding a pod to a node: the one write that a scheduler makes.

Separate from ``cluster`` because it is the only verb with a meaning of its own.
"""

from typing import Any, Final

import msgspec

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.conditions import with_condition
from dra_devcluster.api.errors import ApiError, conflict
from dra_devcluster.api.resources import PODS, Key, Object


def bind(cluster: Cluster, key: Key, body: Any) -> None:
    """Put the pod on the node that a Binding names. Raises Conflict (409) if it may not go."""
    pod = cluster.get(PODS, key)
    node = body.get("target", {}).get("name", "") if isinstance(body, dict) else ""
    if not node:
        raise ApiError(400, "a Binding must name its node in target.name")
    _check_bindable(pod, body)
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": cluster.now(),
    }
    status = with_condition(pod["status"], condition)
    cluster.store.put(PODS, {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status})


BINDING: Final = msgspec.structs.replace(PODS, plural="pods/binding")
"""What a refusal to bind names."""


def _check_bindable(pod: Object, body: Object) -> None:
    name, uid = pod["metadata"]["name"], body.get("metadata", {}).get("uid")
    if uid and uid != pod["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {pod['metadata']['uid']}"
        raise conflict(BINDING, name, why)
    if pod["spec"].get("nodeName"):
        raise conflict(
            BINDING, name, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
        )
    if pod["spec"].get("schedulingGates"):
        raise conflict(BINDING, name, f"pod {name} has non-empty .spec.schedulingGates")
    if pod["metadata"].get("deletionTimestamp"):
        raise conflict(BINDING, name, f"pod {name} is being deleted, cannot be assigned to a host")
