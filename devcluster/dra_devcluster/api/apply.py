"""Server-side apply, as far as it goes for one who applies manifests: made, or merged into what is there.

Who owns which field is not kept here. So nothing conflicts, and a field stays that a manifest no
longer has; every answer says so.
"""

from collections.abc import Mapping
from typing import Any, Final

from dra_devcluster.api.cluster import Cluster, WriteOptions, check_identity
from dra_devcluster.api.errors import ApiError, invalid, not_found, required_field
from dra_devcluster.api.requests import Target
from dra_devcluster.api.resources import Object
from dra_devcluster.api.strategic import strategic_merge_patch

APPLY: Final = "application/apply-patch+yaml"
NO_OWNERS: Final = (
    "the devcluster keeps no field managers: fields that a manifest no longer has stay as they are"
)


def apply(
    cluster: Cluster,
    target: Target,
    manifest: Any,
    options: WriteOptions,
    asked: Mapping[str, str],
) -> tuple[int, Object]:
    """The code and the object as it now is; `asked`: what stands after the question mark."""
    resource, key = target.resource, target.key
    if not asked.get("fieldManager"):
        problem = required_field("fieldManager", "is required for apply patch")
        raise invalid(resource, "", [problem])
    if not isinstance(manifest, dict) or not isinstance(manifest.get("metadata", {}), dict):
        raise ApiError(400, "a manifest is an object with metadata")
    metadata = manifest.setdefault("metadata", {})
    if metadata.get("managedFields"):
        raise ApiError(400, "metadata.managedFields must be nil")
    options.warnings.append(NO_OWNERS)
    if cluster.store.get(resource, key) is not None:
        merged = cluster.change(
            resource, key, lambda old: strategic_merge_patch(old, manifest), options
        )
        return 200, merged
    if target.subresource:
        raise not_found(resource, key.name)
    check_identity(metadata, key)
    return 201, cluster.create(resource, key.namespace, manifest, options)
