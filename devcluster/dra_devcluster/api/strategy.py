"""What the server fills in or throws away before it looks whether an object is valid.

For each kind the same defaults and the same protected fields as kube-apiserver, as far as DRA
clients can see them. Rules that refuse belong to ``validation``, our own policies to
``admission``.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dra_devcluster.api.resources import (
    CLAIMS,
    CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    SLICES,
    TAINT_RULES,
    TEMPLATES,
    Object,
    Resource,
)

TOLERATED: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints that every pod bears for five minutes."""
Defaulting = Callable[[Object, str], None]
SYSTEM_FIELDS: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
)


def default_namespace(obj: Object, _now: str) -> None:
    """Active, with the finalizer that lets its contents go first, and its name as a label."""
    obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    obj.setdefault("status", {"phase": "Active"})
    labels = obj["metadata"].setdefault("labels", {})
    labels.setdefault("kubernetes.io/metadata.name", obj["metadata"]["name"])


def default_node(obj: Object, _now: str) -> None:
    """Nothing but empty spec and status."""
    obj.setdefault("spec", {})
    obj.setdefault("status", {})


def default_pod(obj: Object, _now: str) -> None:
    """What every pod of a real cluster carries; images are not looked at."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    _default_tolerations(spec)
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        _default_container(container)
    status = obj.setdefault("status", {})
    status.setdefault("phase", "Pending")
    status.setdefault("qosClass", _quality_of_service(spec))


def _default_tolerations(spec: Object) -> None:
    tolerations = spec.setdefault("tolerations", [])
    for key in TOLERATED:
        if not any(toleration.get("key", key) == key for toleration in tolerations):
            toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations.append({**toleration, "tolerationSeconds": 300})


def _default_container(container: Object) -> None:
    resources = container.setdefault("resources", {})
    for name, amount in resources.get("limits", {}).items():
        resources.setdefault("requests", {}).setdefault(name, amount)
    tag = container.get("image", "").rpartition("/")[2].partition(":")[2]
    policy = "IfNotPresent" if tag not in ("", "latest") else "Always"
    container.setdefault("imagePullPolicy", policy)
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports", []):
        port.setdefault("protocol", "TCP")


def _quality_of_service(spec: Object) -> str:
    containers = [*spec.get("containers", []), *spec.get("initContainers", [])]
    counted = [
        {side: dict(container["resources"].get(side, {})) for side in ("requests", "limits")}
        for container in containers
    ]
    if not any(sides["requests"] or sides["limits"] for sides in counted):
        return "BestEffort"
    guaranteed = all(
        {"cpu", "memory"} <= sides["limits"].keys() and sides["requests"] == sides["limits"]
        for sides in counted
    )
    return "Guaranteed" if guaranteed else "Burstable"


def default_claim_spec(spec: Object) -> None:
    """One device exactly, unless the request says otherwise; no requests are written as null."""
    for request in spec.setdefault("devices", {}).setdefault("requests", None) or []:
        asked = [request["exactly"]] if "exactly" in request else request.get("firstAvailable", [])
        for alternative in asked:
            _default_request(alternative)


def _default_request(request: Object) -> None:
    mode = request.setdefault("allocationMode", "ExactCount")
    if mode == "ExactCount":
        request.setdefault("count", 1)
    for toleration in request.get("tolerations", []):
        toleration.setdefault("operator", "Equal")


def default_claim(obj: Object, _now: str) -> None:
    """Defaults of the spec, and a status, if only an empty one."""
    default_claim_spec(obj.setdefault("spec", {}))
    obj.setdefault("status", {})


def default_template(obj: Object, _now: str) -> None:
    """Defaults of the claims it will make."""
    obj.setdefault("spec", {}).setdefault("metadata", {})
    default_claim_spec(obj["spec"].setdefault("spec", {}))


def default_slice(obj: Object, now: str) -> None:
    """The time a taint was added, where the driver left it open; no devices are written as null."""
    for device in obj.setdefault("spec", {}).setdefault("devices", None) or []:
        for taint in device.get("taints", []):
            taint.setdefault("timeAdded", now)


def default_class(obj: Object, _now: str) -> None:
    """Nothing but an empty spec."""
    obj.setdefault("spec", {})


def default_taint_rule(obj: Object, now: str) -> None:
    """The time the taint was added, where it was left open."""
    obj.setdefault("spec", {}).setdefault("taint", {}).setdefault("timeAdded", now)
    obj.setdefault("status", {})


def default_event(obj: Object, _now: str) -> None:
    """Nothing: events are stored as they come."""
    obj.setdefault("type", "")


DEFAULTS: Final[Mapping[Resource, Defaulting]] = {
    NAMESPACES: default_namespace,
    NODES: default_node,
    PODS: default_pod,
    CLAIMS: default_claim,
    TEMPLATES: default_template,
    SLICES: default_slice,
    CLASSES: default_class,
    TAINT_RULES: default_taint_rule,
    EVENTS: default_event,
}


def for_create(resource: Resource, obj: Object, uid: str, now: str) -> Object:
    """The object as it will be stored first: system fields ours, status not the caller's."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SYSTEM_FIELDS}
    metadata.pop("managedFields", None)
    metadata |= {"uid": uid, "creationTimestamp": now}
    if resource.has_generation:
        metadata["generation"] = 1
    created = {**_headed(resource, obj), "metadata": metadata}
    if "status" in resource.subresources and resource != NODES:
        created.pop("status", None)
    DEFAULTS[resource](created, now)
    return created


def for_update(resource: Resource, new: Object, old: Object, now: str) -> Object:
    """The new state through the main endpoint: system fields and status stay as they were."""
    kept = {key: old["metadata"][key] for key in SYSTEM_FIELDS if key in old["metadata"]}
    given = {key: value for key, value in new["metadata"].items() if key not in SYSTEM_FIELDS}
    given.pop("managedFields", None)
    updated = {**_headed(resource, new), "metadata": {**given, **kept}}
    if "status" in resource.subresources:
        updated["status"] = dict(old.get("status", {}))
    if resource == NAMESPACES:
        updated["spec"] = old["spec"]
    DEFAULTS[resource](updated, now)
    if resource.has_generation and updated.get("spec") != old.get("spec"):
        updated["metadata"]["generation"] = old["metadata"]["generation"] + 1
    return updated


def for_status(resource: Resource, new: Object, old: Object) -> Object:
    """The new state through ``/status``: nothing but the status may change."""
    status: dict[str, Any] = dict(new.get("status", {}))
    if resource == CLAIMS:
        _drop_reports_on_released(status, old.get("status", {}))
    return {**old, "status": status}


def allocated_devices(status: Object) -> set[tuple[str, ...]]:
    """The keys of the devices that a claim's status says it holds."""
    results = status.get("allocation", {}).get("devices", {}).get("results", [])
    return {device_key(result) for result in results}


def _drop_reports_on_released(status: Object, old: Object) -> None:
    """What drivers said about a device goes when the device goes."""
    released = allocated_devices(old) - allocated_devices(status)
    kept = [entry for entry in status.pop("devices", []) if device_key(entry) not in released]
    if kept:
        status["devices"] = kept


def device_key(entry: Object) -> tuple[str, ...]:
    """What tells a device, or a share of one, from others in a claim's status."""
    return tuple(entry.get(field, "") for field in ("driver", "pool", "device", "shareID"))


def _headed(resource: Resource, obj: Object) -> Object:
    return {**obj, "kind": resource.kind, "apiVersion": resource.api_version}
