"""The two patch formats with an RFC: JSON merge patch (7386) and JSON patch (6902).

Plain functions of document and patch. Strategic merge, which needs to know Kubernetes' lists, is
in ``strategic``.
"""

import copy
from typing import Any, Final

from dra_devcluster.api.errors import ApiError, patch_refused

MISSING: Final = object()


def merge_patch(document: Any, patch: Any) -> Any:
    """The document with the patch merged in: null deletes, objects merge, all else replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(document: Any, operations: Any) -> Any:
    """The document after all operations; one that does not apply refuses all (422)."""
    if not isinstance(operations, list):
        raise ApiError(400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    patched = copy.deepcopy(document)
    for operation in operations:
        if not isinstance(operation, dict):
            raise ApiError(400, "json: a JSON patch is a list of objects")
        patched = _apply(patched, operation)
    return patched


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    path = str(operation.get("path", ""))
    match operation.get("op"):
        case "test":
            if _read(document, path, absent=None) != operation.get("value"):
                raise patch_refused(f"testing value {path} failed: test failed")
            return document
        case "add":
            return _write(document, path, _value(operation), insert=True)
        case "replace":
            _read(document, path)
            return _write(document, path, _value(operation), insert=False)
        case "remove":
            _read(document, path)
            return _remove(document, path)
        case "copy" | "move" as verb:
            origin = str(operation.get("from", ""))
            value = copy.deepcopy(_read(document, origin))
            remaining = _remove(document, origin) if verb == "move" else document
            return _write(remaining, path, value, insert=True)
        case other:
            raise patch_refused(f"Unexpected kind: {other}")


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise patch_refused(f"{operation.get('op')} operation needs a value")
    return copy.deepcopy(operation["value"])


def _tokens(path: str) -> list[str]:
    if not path:
        return []
    if not path.startswith("/"):
        raise patch_refused(f'path "{path}" does not start with "/"')
    return [token.replace("~1", "/").replace("~0", "~") for token in path[1:].split("/")]


def _step(container: Any, token: str) -> Any:
    if isinstance(container, dict):
        return container.get(token, MISSING)
    if isinstance(container, list) and token.isdigit() and int(token) < len(container):
        return container[int(token)]
    return MISSING


def _read(document: Any, path: str, absent: Any = MISSING) -> Any:
    found = document
    for token in _tokens(path):
        found = _step(found, token)
        if found is MISSING:
            break
    found = absent if found is MISSING else found
    if found is MISSING:
        raise patch_refused(f"path {path} does not exist")
    return found


def _parent(document: Any, path: str) -> tuple[Any, str]:
    last = _tokens(path)[-1]
    return _read(document, path.rpartition("/")[0]), last


def _write(document: Any, path: str, value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    container, token = _parent(document, path)
    if isinstance(container, dict):
        container[token] = value
    elif isinstance(container, list):
        _write_item(container, token, value, insert=insert)
    else:
        raise patch_refused(f"path {path} does not exist")
    return document


def _write_item(items: list[Any], place: str, value: Any, *, insert: bool) -> None:
    position = len(items) if place == "-" else int(place) if place.isdigit() else -1
    if not 0 <= position <= len(items):
        raise patch_refused(f"invalid index {place}")
    if insert:
        items.insert(position, value)
    else:
        items[position] = value


def _remove(document: Any, path: str) -> Any:
    if not path:
        return None
    container, token = _parent(document, path)
    if isinstance(container, list):
        del container[int(token)]
    else:
        del container[token]
    return document
