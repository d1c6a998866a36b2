"""How a client learns which kinds there are: version, groups, and kinds of a group.

Both ways are served: the old one, a document for each group, and the aggregated one that kubectl
asks for by its Accept header.
"""

from typing import Final

from dra_devcluster.api.resources import DRA_GROUP, RESOURCES, VERBS, Object, Resource

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SUBRESOURCE_VERBS: Final = {
    "status": ["get", "patch", "update"],
    "finalize": ["update"],
    "binding": ["create"],
    "log": ["get"],
}
SUBRESOURCE_KINDS: Final = {"binding": "Binding"}
GIT_VERSION: Final = "v1.37.2+devcluster"


def version() -> Object:
    """``/version``: the release whose answers are imitated, marked as not being it."""
    return {
        "major": "1",
        "minor": "37",
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "python",
        "platform": "linux/amd64",
    }


def core_versions() -> Object:
    """``/api``, the old way."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def groups() -> Object:
    """``/apis``, the old way."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group()]}


def group() -> Object:
    """``/apis/resource.k8s.io``: the one named group there is."""
    served = {"groupVersion": f"{DRA_GROUP}/v1", "version": "v1"}
    return {"name": DRA_GROUP, "versions": [served], "preferredVersion": served}


def resource_list(group_name: str) -> Object:
    """``/api/v1`` or ``/apis/GROUP/v1``: the kinds of one group, subresources as rows."""
    rows: list[Object] = []
    for resource in _of(group_name):
        rows.append(_row(resource))
        rows.extend(_subresource_row(resource, name) for name in resource.subresources)
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group_name}/v1" if group_name else "v1",
        "resources": rows,
    }


def _of(group_name: str) -> list[Resource]:
    return [resource for resource in RESOURCES if resource.group == group_name]


def _row(resource: Resource) -> Object:
    row: Object = {
        "name": resource.plural,
        "singularName": resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(VERBS),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    return row


def _subresource_row(resource: Resource, name: str) -> Object:
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": SUBRESOURCE_KINDS.get(name, resource.kind),
        "verbs": SUBRESOURCE_VERBS[name],
    }


def aggregated(group_name: str) -> Object:
    """``/api`` (no group) or ``/apis``, the aggregated way (KEP-3352)."""
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group_name} if group_name else {},
                "versions": [
                    {
                        "version": "v1",
                        "freshness": "Current",
                        "resources": [_aggregated_row(resource) for resource in _of(group_name)],
                    }
                ],
            }
        ],
    }


def _aggregated_row(resource: Resource) -> Object:
    row: Object = {
        "resource": resource.plural,
        "responseKind": _kind(resource, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.kind.lower(),
        "verbs": list(VERBS),
        "subresources": [
            {
                "subresource": name,
                "responseKind": _kind(resource, SUBRESOURCE_KINDS.get(name, resource.kind)),
                "verbs": SUBRESOURCE_VERBS[name],
            }
            for name in resource.subresources
        ],
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    return row


def _kind(resource: Resource, kind: str) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": kind}
