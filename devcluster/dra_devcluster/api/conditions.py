"""Lists of conditions as statuses hold them: one entry a type."""

from dra_devcluster.api.resources import Object


def condition(status: Object, kind: str) -> Object | None:
    """The condition of that type, or None."""
    return next((entry for entry in status.get("conditions", []) if entry["type"] == kind), None)


def with_condition(status: Object, new: Object) -> Object:
    """The status with the condition set; its transition time stays while its status does."""
    old = condition(status, new["type"])
    entry = {field: value for field, value in new.items() if value is not None}
    if old and old["status"] == new["status"] and "lastTransitionTime" in old:
        entry["lastTransitionTime"] = old["lastTransitionTime"]
    others = [item for item in status.get("conditions", []) if item["type"] != new["type"]]
    return {**status, "conditions": [*others, entry]}
