"""When a deleted object is really gone: finalizers, grace periods and preconditions.

Pure decisions on one object; the cluster acts on them.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from dra_devcluster.api.errors import ApiError, conflict
from dra_devcluster.api.resources import NAMESPACES, PODS, Object, Resource
from dra_devcluster.api.timestamps import moment, timestamp

FINISHED: Final = ("Succeeded", "Failed")


class Deletion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a DELETE may say (DeleteOptions); owners are always collected in the background."""

    grace_period_seconds: int | None = None
    preconditions: dict[str, str] = {}
    dry_run: list[str] = []


def deletion_from(body: Any, query: Mapping[str, str], *, dry_run: bool) -> Deletion:
    """The options in body and query; unknown fields are left to newer clients. Raises 400."""
    given = {name: value for name, value in (body or {}).items() if value is not None}
    if "gracePeriodSeconds" in query:
        given.setdefault("gracePeriodSeconds", query["gracePeriodSeconds"])
    if dry_run:
        given["dryRun"] = ["All"]
    try:
        return msgspec.convert(given, Deletion, strict=False)
    except msgspec.ValidationError as wrong:
        raise ApiError(400, f"invalid DeleteOptions: {wrong}") from wrong


def check_preconditions(resource: Resource, obj: Object, deletion: Deletion) -> None:
    """Raises Conflict (409) if the caller meant another object, or another state of it."""
    metadata = obj["metadata"]
    names = {"uid": "UID", "resourceVersion": "ResourceVersion"}
    for field, title in names.items():
        wanted, found = deletion.preconditions.get(field), metadata[field]
        if wanted not in (None, found):
            why = (
                f"the {title} in the precondition ({wanted}) does not match the {title} in record"
                f" ({found}). The object might have been deleted and then recreated"
            )
            raise conflict(resource, metadata["name"], why)


def grace_seconds(resource: Resource, obj: Object, deletion: Deletion) -> int:
    """How long the object stays: only a pod that a kubelet runs gets any time."""
    if resource != PODS:
        return 0
    spec, status = obj["spec"], obj.get("status", {})
    if not spec.get("nodeName") or status.get("phase") in FINISHED:
        return 0
    asked = deletion.grace_period_seconds
    wanted: int = spec["terminationGracePeriodSeconds"] if asked is None else asked
    left = obj["metadata"].get("deletionGracePeriodSeconds")
    return max(0, wanted if left is None else min(wanted, left))


def marked(resource: Resource, obj: Object, grace: int, now: str) -> Object:
    """The object with its deletion on record: it stays until ``is_finished``."""
    metadata = dict(obj["metadata"])
    if metadata.get("deletionGracePeriodSeconds", grace) >= grace:
        started = moment(now) if "deletionTimestamp" not in metadata else _started(metadata)
        metadata["deletionTimestamp"] = timestamp(started + timedelta(seconds=grace))
        metadata["deletionGracePeriodSeconds"] = grace
    if resource.has_generation and "deletionTimestamp" not in obj["metadata"]:
        metadata["generation"] = metadata.get("generation", 0) + 1
    marked_object = {**obj, "metadata": metadata}
    if resource == NAMESPACES:
        del metadata["deletionGracePeriodSeconds"]
        marked_object["status"] = {**obj["status"], "phase": "Terminating"}
    return marked_object


def _started(metadata: Object) -> Any:
    asked = timedelta(seconds=metadata.get("deletionGracePeriodSeconds", 0))
    return moment(metadata["deletionTimestamp"]) - asked


def is_finished(resource: Resource, obj: Object) -> bool:
    """Nothing holds the object any more: deletion asked for, no finalizer, no time left."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if resource == NAMESPACES:
        return not obj["spec"].get("finalizers")
    return bool(metadata.get("deletionGracePeriodSeconds", 0) == 0)
