"""The kinds this server serves, one row each: everything else asks this table.

No behaviour here: what a kind's fields mean belongs to validation, defaults and tables.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

Object = dict[str, Any]
"""A Kubernetes object as JSON gives it. Once stored it is never changed, only replaced."""

DRA_GROUP: Final = "resource.k8s.io"
VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One served kind: its names, its scope and its subresources."""

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    returns_deleted: bool = True
    """Whether DELETE answers with the object; the real server does not for every kind."""
    has_generation: bool = False
    """Whether the server counts changes of the spec in ``metadata.generation``."""

    @property
    def api_version(self) -> str:
        """``v1`` or ``resource.k8s.io/v1``, as it stands in manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """``pods`` or ``resourceclaims.resource.k8s.io``, as error messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class Key(msgspec.Struct, frozen=True, order=True):
    """An object's place within its kind; cluster-scoped objects have no namespace."""

    namespace: str
    name: str


NAMESPACES: Final = Resource(
    kind="Namespace",
    plural="namespaces",
    namespaced=False,
    short_names=("ns",),
    subresources=("status", "finalize"),
)
NODES: Final = Resource(
    kind="Node",
    plural="nodes",
    namespaced=False,
    short_names=("no",),
    returns_deleted=False,
    subresources=("status",),
)
PODS: Final = Resource(
    kind="Pod",
    plural="pods",
    short_names=("po",),
    categories=("all",),
    subresources=("status", "binding", "log"),
    has_generation=True,
)
EVENTS: Final = Resource(kind="Event", plural="events", short_names=("ev",), returns_deleted=False)
CLAIMS: Final = Resource(
    group=DRA_GROUP, kind="ResourceClaim", plural="resourceclaims", subresources=("status",)
)
TEMPLATES: Final = Resource(
    group=DRA_GROUP, kind="ResourceClaimTemplate", plural="resourceclaimtemplates"
)
SLICES: Final = Resource(
    group=DRA_GROUP,
    kind="ResourceSlice",
    plural="resourceslices",
    namespaced=False,
    has_generation=True,
)
CLASSES: Final = Resource(
    group=DRA_GROUP,
    kind="DeviceClass",
    plural="deviceclasses",
    namespaced=False,
    has_generation=True,
)
TAINT_RULES: Final = Resource(
    group=DRA_GROUP,
    kind="DeviceTaintRule",
    plural="devicetaintrules",
    namespaced=False,
    returns_deleted=False,
    subresources=("status",),
    has_generation=True,
)

RESOURCES: Final = (
    NAMESPACES,
    NODES,
    PODS,
    EVENTS,
    CLAIMS,
    TEMPLATES,
    SLICES,
    CLASSES,
    TAINT_RULES,
)
BY_PATH: Final[Mapping[tuple[str, str, str], Resource]] = MappingProxyType(
    {(resource.group, resource.version, resource.plural): resource for resource in RESOURCES}
)


def key_of(obj: Object) -> Key:
    """The object's place within its kind."""
    metadata = obj["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])
