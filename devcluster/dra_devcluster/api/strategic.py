"""Strategic merge patch: a merge patch that knows which of Kubernetes' lists are keyed.

Lists are known by field name alone, enough for the kinds served here. Not there: ``$retainKeys``
is obeyed by replacing the listed union, ``$setElementOrder`` orders the named elements first.
"""

import copy
from typing import Any, Final

from dra_devcluster.api.resources import Object

MERGE_KEYS: Final = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "ports": "containerPort",
    "reservedFor": "uid",
    "resourceClaimStatuses": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""Lists of objects that merge by this key; any other list of objects is replaced whole."""
SET_LISTS: Final = frozenset({"finalizers"})
"""Lists of words that merge as sets."""
ORDER: Final = "$setElementOrder/"
DELETE_WORDS: Final = "$deleteFromPrimitiveList/"


def strategic_merge_patch(document: Object, patch: Object) -> Object:
    """The document with the patch merged in, keyed lists element by element."""
    if patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    merged = dict(document)
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge_field(key, merged.get(key), value)
    for key, value in patch.items():
        if key.startswith(DELETE_WORDS):
            field = key.removeprefix(DELETE_WORDS)
            merged[field] = [word for word in merged.get(field, []) if word not in value]
        elif key.startswith(ORDER):
            _order(merged, key.removeprefix(ORDER), value)
    return _retain(merged, patch.get("$retainKeys"))


def _merge_field(name: str, old: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return strategic_merge_patch(old if isinstance(old, dict) else {}, new)
    if not isinstance(new, list) or not isinstance(old, list):
        return _without_directives(new)
    if name in SET_LISTS:
        return [*old, *(word for word in new if word not in old)]
    if key := MERGE_KEYS.get(name):
        return _merge_list(key, old, new)
    return _without_directives(new)


def _merge_list(key: str, old: list[Object], new: list[Object]) -> list[Object]:
    if any(item.get("$patch") == "replace" for item in new):
        return [item for item in new if "$patch" not in item]
    merged = {item.get(key): item for item in old}
    for item in new:
        identity = item.get(key)
        if item.get("$patch") == "delete":
            merged.pop(identity, None)
        else:
            merged[identity] = strategic_merge_patch(merged.get(identity, {}), item)
    return list(merged.values())


def _without_directives(value: Any) -> Any:
    if not isinstance(value, list):
        return copy.deepcopy(value)
    return [
        strategic_merge_patch({}, item) if isinstance(item, dict) else item
        for item in value
        if not (isinstance(item, dict) and item.get("$patch") in ("delete", "replace"))
    ]


def _order(merged: Object, field: str, order: list[Any]) -> None:
    key = MERGE_KEYS.get(field)
    items = merged.get(field)
    if not isinstance(items, list):
        return
    wanted = [item.get(key) if isinstance(item, dict) else item for item in order]

    def place(item: Any) -> int:
        identity = item.get(key) if isinstance(item, dict) else item
        return wanted.index(identity) if identity in wanted else len(wanted)

    merged[field] = sorted(items, key=place)


def _retain(merged: Object, retained: list[str] | None) -> Object:
    if retained is None:
        return merged
    return {key: value for key, value in merged.items() if key in retained}
