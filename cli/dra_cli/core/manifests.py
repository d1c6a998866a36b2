"""Documents of manifests as Kubernetes objects, checked as an API server would. No file is read here.

Whatever is wrong is said with file, number of the document, object and field.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dra_api_bridge.core.objects import Namespace
from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.resources import CLAIMS, SLICES, TEMPLATES, Resource
from dra_devcluster.api.schema import Strictness, shape
from dra_devcluster.api.strategy import default_claim, default_template
from dra_devcluster.api.validation import Write, validate
from dra_shared.kube.claims import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimSpec
from dra_shared.kube.core import Node, Pod
from dra_shared.kube.devices import ResourceSlice
from dra_shared.kube.meta import KubeStruct, ObjectMeta

DRA: Final = ("resource.k8s.io/v1", "resource.k8s.io/v1beta2")
"""Versions of one shape."""
CORE: Final = ("v1",)
NAMESPACED: Final = frozenset({"Pod", "ResourceClaim", "ResourceClaimTemplate"})
UNKNOWN_FIELD: Final = "correct it, or go on without it with --lenient"


class ClaimTemplateSpec(KubeStruct, frozen=True, kw_only=True):
    """What the claims of a template look like."""

    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubeStruct, frozen=True, kw_only=True):
    """A template of claims; each pod that refers to it gets one."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimTemplateSpec = ClaimTemplateSpec()


AnyObject = (
    Namespace
    | Node
    | Pod
    | DeviceClass
    | DeviceTaintRule
    | ResourceSlice
    | ResourceClaim
    | ResourceClaimTemplate
)

_KINDS: Final[Mapping[str, tuple[tuple[str, ...], type[AnyObject]]]] = MappingProxyType(
    {
        "Namespace": (CORE, Namespace),
        "Node": (CORE, Node),
        "Pod": (CORE, Pod),
        "DeviceClass": (DRA, DeviceClass),
        "DeviceTaintRule": ((*DRA, "resource.k8s.io/v1alpha3"), DeviceTaintRule),
        "ResourceSlice": (DRA, ResourceSlice),
        "ResourceClaim": (DRA, ResourceClaim),
        "ResourceClaimTemplate": (DRA, ResourceClaimTemplate),
    }
)
_RULES: Final[Mapping[str, Resource]] = MappingProxyType(
    {"ResourceClaim": CLAIMS, "ResourceClaimTemplate": TEMPLATES, "ResourceSlice": SLICES}
)


class Document(msgspec.Struct, frozen=True):
    """One document of a file, numbered from 1."""

    file: str
    number: int
    content: Any

    def __str__(self) -> str:
        """`slices.yaml, document 2`."""
        return f"{self.file}, document {self.number}"


class BadManifestError(Exception):
    """A document is no object that Kubernetes would take; whoever wrote it must act."""

    def __init__(self, where: object, what: str) -> None:
        super().__init__(f"{where}: {what}")


class Manifest(msgspec.Struct, frozen=True):
    """An object, and the document that it was read from."""

    document: Document
    object: AnyObject


class Reading(msgspec.Struct, frozen=True):
    """What some documents say: objects in their order, and what was left out of them."""

    manifests: tuple[Manifest, ...]
    left_out: tuple[str, ...]


def read(documents: Iterable[Document], *, lenient: bool = False) -> Reading:
    """The objects in the documents. Raises BadManifestError.

    Kinds that no allocation depends on are left out. With `lenient`, unknown fields are too.
    """
    manifests: dict[tuple[str, str, str], Manifest] = {}
    left_out: dict[str, None] = {}
    for document in _singles(documents):
        kind = _kind(document)
        if kind not in _KINDS:
            left_out[f"objects of kind {kind}, on which no allocation depends"] = None
            continue
        where = f"{document}, {kind} {_name(document)}"
        shaped, unknown = _shaped(where, document.content, kind)
        if unknown and not lenient:
            raise BadManifestError(where, f"{', '.join(unknown)}; {UNKNOWN_FIELD}")
        left_out |= dict.fromkeys(f"{_without_indexes(one)} of {kind}" for one in unknown)
        found = Manifest(document, _object(where, shaped, kind))
        key = (kind, found.object.metadata.namespace or "", found.object.metadata.name)
        if key in manifests:
            raise BadManifestError(where, f"is in {manifests[key].document} already")
        manifests[key] = found
    return Reading(tuple(manifests.values()), tuple(left_out))


def _singles(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, with lists taken apart as `kubectl get -o yaml` writes them."""
    for document in documents:
        if document.content is None:
            continue
        if not isinstance(document.content, dict):
            raise BadManifestError(document, "is no object; it needs apiVersion, kind and metadata")
        items = document.content.get("items")
        if str(document.content.get("kind", "")).endswith("List") and isinstance(items, list):
            yield from _singles(Document(document.file, document.number, item) for item in items)
        else:
            yield document


def _kind(document: Document) -> str:
    kind, version = document.content.get("kind"), document.content.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        raise BadManifestError(document, "kind: Required value")
    versions = _KINDS[kind][0] if kind in _KINDS else (version,)
    if version not in versions:
        wanted = " or ".join(str(each) for each in versions)
        raise BadManifestError(document, f"{kind}: apiVersion is {version}, it must be {wanted}")
    return kind


def _name(document: Document) -> str:
    metadata = document.content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        where = f"{document}, {document.content['kind']}"
        raise BadManifestError(where, "metadata.name: Required value")
    return name


def _shaped(where: str, content: Any, kind: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The object with known fields only, and the names of the others."""
    try:
        found = shape(content, kind, Strictness.WARN)
    except ApiError as error:
        raise BadManifestError(where, str(error.__cause__ or error)) from error
    return {"spec": {}, **found.obj}, found.warnings


def _object(where: str, shaped: dict[str, Any], kind: str) -> AnyObject:
    _fill_in(shaped, kind)
    resource = _RULES.get(kind)
    try:
        if resource is not None:
            validate(Write(resource=resource, new=shaped, admin=True))
        return msgspec.convert(shaped, _KINDS[kind][1])
    except ApiError as error:
        causes = (error.details or {}).get("causes", ())
        told = "; ".join(f"{cause['field']}: {cause['message']}" for cause in causes)
        raise BadManifestError(where, told or error.message) from error
    except msgspec.ValidationError as error:
        raise BadManifestError(where, str(error)) from error


def _fill_in(shaped: dict[str, Any], kind: str) -> None:
    """What an API server would: a namespace, a uid, defaults of claims."""
    metadata = shaped["metadata"]
    if kind in NAMESPACED:
        metadata.setdefault("namespace", "default")
    parts = (kind.lower(), metadata.get("namespace", ""), metadata["name"])
    metadata.setdefault("uid", "/".join(part for part in parts if part))
    if kind == "ResourceClaim":
        default_claim(shaped, "")
    elif kind == "ResourceClaimTemplate":
        default_template(shaped, "")


def _without_indexes(warning: str) -> str:
    """One word for the same field in all items of a list."""
    return "".join(
        part if place == 0 else part.partition("]")[2]
        for place, part in enumerate(warning.split("["))
    )
