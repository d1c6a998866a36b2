"""The smallest OpenAPI v3 documents with which ``kubectl apply`` works as usual.

They say that every kind can be patched and that the server checks fields itself
(``fieldValidation``), which is all kubectl looks up before it applies. They hold no schemas:
``kubectl explain`` has nothing to say here, and there is no OpenAPI v2.
"""

from dra_devcluster.api.resources import DRA_GROUP, RESOURCES, Object, Resource


def index() -> Object:
    """``/openapi/v3``: one document for each group version."""
    paths = ("api/v1", f"apis/{DRA_GROUP}/v1")
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}


def document(group: str) -> Object:
    """``/openapi/v3/...``: the patch operation of every kind of the group."""
    resources = [resource for resource in RESOURCES if resource.group == group]
    return {
        "openapi": "3.0.0",
        "info": {"title": "dra-ledger devcluster", "version": "v1"},
        "paths": {_path(resource): {"patch": _patch(resource)} for resource in resources},
        "components": {"schemas": {}},
    }


def _path(resource: Resource) -> str:
    prefix = f"/apis/{resource.group}/v1" if resource.group else "/api/v1"
    middle = "/namespaces/{namespace}" if resource.namespaced else ""
    return f"{prefix}{middle}/{resource.plural}/{{name}}"


def _patch(resource: Resource) -> Object:
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation")
    ]
    formats = ("application/json-patch+json", "application/merge-patch+json")
    return {
        "operationId": f"patch{resource.kind}",
        "parameters": parameters,
        "requestBody": {"content": {name: {"schema": {}} for name in formats}},
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
        },
    }
