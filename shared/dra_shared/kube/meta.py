"""What all Kubernetes objects share: metadata, owners, selectors. Nothing of one kind alone."""

import msgspec

Labels = dict[str, str]


class KubeStruct(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """A Kubernetes shape: camelCase on the wire, absent fields stay absent.

    Facts and shapes are trees, so the garbage collector need not look for cycles among them
    (`gc=False`): less memory, and no pauses over millions of them.
    """


class OwnerReference(KubeStruct, frozen=True, kw_only=True):
    """Who owns an object; the garbage collector follows it."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(KubeStruct, frozen=True, kw_only=True):
    """Identity and bookkeeping of one object. Facts carry it, so what nobody reads stays readable."""

    name: str = ""
    generate_name: str | None = None
    namespace: str | None = None
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: Labels | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class NodeSelectorRequirement(KubeStruct, frozen=True, kw_only=True):
    """One test on a label or field of a node. Operators: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class NodeSelectorTerm(KubeStruct, frozen=True, kw_only=True):
    """All of its tests must hold; a term without tests matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] | None = None
    match_fields: tuple[NodeSelectorRequirement, ...] | None = None


class NodeSelector(KubeStruct, frozen=True, kw_only=True):
    """One of its terms must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class ListMeta(KubeStruct, frozen=True, kw_only=True):
    """Where a list stands in the server's history."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")
    """The token of the next page; empty on the last."""
