"""The kinds of API objects that the bridge watches, and how one object is told from another.

Shapes are in dra_shared.kube; here is only what tells them apart. No state.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import DeviceClass, DeviceTaintRule, ResourceClaim
from dra_shared.kube.core import Node, Pod
from dra_shared.kube.devices import ResourceSlice
from dra_shared.kube.meta import KubeStruct, ObjectMeta

GATE: Final = "dra-ledger.io/allocation"
"""The scheduling gate that makes a pod ours."""

ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
"""A namespace with this label set to "true" may use admin access (KEP-5018)."""

FINISHED: Final = frozenset({"Succeeded", "Failed"})
"""Phases in which a pod no longer uses anything."""


class Namespace(KubeStruct, frozen=True, kw_only=True):
    """A namespace; only its labels matter."""

    metadata: ObjectMeta = ObjectMeta()


class Kind(StrEnum):
    """The watched kinds, by their names in URLs."""

    NAMESPACES = "namespaces"
    NODES = "nodes"
    PODS = "pods"
    CLASSES = "deviceclasses"
    TAINT_RULES = "devicetaintrules"
    SLICES = "resourceslices"
    CLAIMS = "resourceclaims"


KubeObject = Namespace | Node | Pod | DeviceClass | DeviceTaintRule | ResourceSlice | ResourceClaim

SHAPES: Final[Mapping[Kind, type[KubeObject]]] = MappingProxyType(
    {
        Kind.NAMESPACES: Namespace,
        Kind.NODES: Node,
        Kind.PODS: Pod,
        Kind.CLASSES: DeviceClass,
        Kind.TAINT_RULES: DeviceTaintRule,
        Kind.SLICES: ResourceSlice,
        Kind.CLAIMS: ResourceClaim,
    }
)


class Address(NamedTuple):
    """Where an object is found; the namespace is empty for those of the cluster."""

    namespace: str
    name: str


class Topic(StrEnum):
    """What a piece of work is about."""

    CLAIM = "claim"
    POD = "pod"
    NODE = "node"
    CLASS = "class"
    TAINT_RULE = "taint-rule"
    POOL = "pool"
    SLICE = "slice"
    EVENT = "event"
    FEATURES = "features"


class Work(NamedTuple):
    """Something to look at again: a claim or pod by uid, a pool by driver and name, or a name."""

    topic: Topic
    name: str
    pool: str = ""


FEATURES: Final = Work(Topic.FEATURES, "")
"""What the API server accepts; there is one of it."""


def address(meta: ObjectMeta) -> Address:
    """Where the object with this metadata is found."""
    return Address(meta.namespace or "", meta.name)


def reference(meta: ObjectMeta) -> ObjectRef:
    """The name of this very object in the log."""
    return ObjectRef(namespace=meta.namespace or "", name=meta.name, uid=meta.uid)


def version(meta: ObjectMeta) -> int:
    """The object's place in the server's history; comparable within a kind (KEP-5504)."""
    return int(meta.resource_version or 0)
