"""What manifests leave to a cluster: claims made from templates, pods for lone claims, nodes, gates.

Everything is made up from the objects alone, so that the same manifests always mean the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

import msgspec

from dra_api_bridge.core.objects import GATE, Address, KubeObject, address
from dra_api_bridge.core.observed import claim_addresses, is_finished, is_gated
from dra_cli.core.manifests import AnyObject, ResourceClaimTemplate
from dra_shared.kube.claims import ResourceClaim
from dra_shared.kube.core import (
    Node,
    NodeStatus,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSchedulingGate,
    PodSpec,
    PodStatus,
)
from dra_shared.kube.devices import ResourceSlice
from dra_shared.kube.meta import ObjectMeta, OwnerReference

PLENTY: Final = {"cpu": "1000000", "memory": "1Ei", "pods": "1000000"}
"""What a node has room for that does not say."""


ObjectT = TypeVar("ObjectT")


class There(msgspec.Struct, frozen=True):
    """What is there already, beside the manifests: claims that pods may use, and names of nodes."""

    claims: tuple[ResourceClaim, ...] = ()
    nodes: frozenset[str] = frozenset()


NOTHING: Final = There()


class MissingObjectError(Exception):
    """A pod refers to an object that is nowhere; whoever wrote the manifests must act."""

    def __init__(self, pod: Pod, ref: PodResourceClaim, what: str) -> None:
        super().__init__(
            f"spec.resourceClaims[{ref.name}]: there is no {what} in namespace "
            f"{pod.metadata.namespace} among the manifests"
        )
        self.pod = pod


class NoSuchPodError(Exception):
    """The pod that was asked for is not among the manifests; the caller must act."""

    def __init__(self, name: str, known: Iterable[Pod]) -> None:
        names = ", ".join(sorted(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in known))
        super().__init__(f"there is no pod {name} that waits, there are {names or 'none'}")


def complete(
    objects: Iterable[AnyObject], only: str = "", there: There = NOTHING
) -> tuple[KubeObject, ...]:
    """The objects with all that a decision needs. Raises MissingObjectError, NoSuchPodError.

    `only`: the one pod (`name` or `namespace/name`) that asks for devices; others are left out
    unless they run already. What is `there` may be referred to, and is not among the answer.
    """
    given = tuple(objects)
    templates = {address(one.metadata): one for one in _of(given, ResourceClaimTemplate)}
    pods: list[Pod] = []
    claims = list(_of(given, ResourceClaim))
    for pod in _of(given, Pod):
        made = tuple(_made_claims(pod, templates))
        claims += made
        pods.append(_with_statuses(pod, made) if made else pod)
    pods += _pods_of_lone_claims(claims, pods)
    known = {address(claim.metadata): claim for claim in (*there.claims, *claims)}
    rest = [
        one for one in given if not isinstance(one, ResourceClaimTemplate | ResourceClaim | Pod)
    ]
    cluster = [_with_room(one) if isinstance(one, Node) else one for one in rest]
    shown = [_gated(pod, known) for pod in pods]
    if only:
        shown = _chosen(shown, only)
    return (*cluster, *_missing_nodes(given, there), *claims, *shown)


def waiting(objects: Iterable[KubeObject]) -> tuple[Pod, ...]:
    """The pods that ask for devices."""
    return tuple(pod for pod in _of(objects, Pod) if is_gated(pod))


def _chosen(pods: Sequence[Pod], only: str) -> list[Pod]:
    if not any(_is_named(pod, only) for pod in waiting(pods)):
        raise NoSuchPodError(only, waiting(pods))
    return [pod for pod in pods if not is_gated(pod) or _is_named(pod, only)]


def _is_named(pod: Pod, name: str) -> bool:
    meta = pod.metadata
    return name in (meta.name, f"{meta.namespace}/{meta.name}")


def _of(objects: Iterable[object], kind: type[ObjectT]) -> Iterator[ObjectT]:
    return (one for one in objects if isinstance(one, kind))


def _made_claims(
    pod: Pod, templates: dict[Address, ResourceClaimTemplate]
) -> Iterator[ResourceClaim]:
    """The claims that the claim controller would make for the pod, under foreseeable names."""
    done = {status.name for status in pod.status.resource_claim_statuses or ()}
    namespace = pod.metadata.namespace or ""
    for ref in pod.spec.resource_claims or ():
        if ref.resource_claim_template_name is None or ref.name in done:
            continue
        template = templates.get(Address(namespace, ref.resource_claim_template_name))
        if template is None:
            what = f"ResourceClaimTemplate {ref.resource_claim_template_name}"
            raise MissingObjectError(pod, ref, what)
        yield _claim_for(pod, ref, template)


def _claim_for(pod: Pod, ref: PodResourceClaim, template: ResourceClaimTemplate) -> ResourceClaim:
    name = f"{pod.metadata.name}-{ref.name}"
    owner = OwnerReference(
        api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True
    )
    return ResourceClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=pod.metadata.namespace,
            uid=f"resourceclaim/{pod.metadata.namespace}/{name}",
            owner_references=(owner,),
        ),
        spec=template.spec.spec,
    )


def _with_statuses(pod: Pod, made: tuple[ResourceClaim, ...]) -> Pod:
    begin = len(pod.metadata.name) + 1
    statuses = tuple(
        PodResourceClaimStatus(
            name=claim.metadata.name[begin:], resource_claim_name=claim.metadata.name
        )
        for claim in made
    )
    known = pod.status.resource_claim_statuses or ()
    status = msgspec.structs.replace(pod.status, resource_claim_statuses=(*known, *statuses))
    return msgspec.structs.replace(pod, status=status)


def _pods_of_lone_claims(claims: Iterable[ResourceClaim], pods: Iterable[Pod]) -> Iterator[Pod]:
    used = {place for pod in pods for place in claim_addresses(pod).values()}
    for claim in claims:
        meta = claim.metadata
        if address(meta) in used or claim.status.allocation is not None:
            continue
        ref = PodResourceClaim(name="claim", resource_claim_name=meta.name)
        yield Pod(
            metadata=ObjectMeta(
                name=meta.name, namespace=meta.namespace, uid=f"pod-of/{meta.namespace}/{meta.name}"
            ),
            spec=PodSpec(resource_claims=(ref,)),
            status=PodStatus(phase="Pending"),
        )


def _gated(pod: Pod, claims: dict[Address, ResourceClaim]) -> Pod:
    """The pod behind our gate if it waits for devices. Raises MissingObjectError."""
    places = {name: place for name, place in claim_addresses(pod).items() if place is not None}
    if is_finished(pod) or not places or pod.metadata.deletion_timestamp is not None:
        return pod
    for ref in pod.spec.resource_claims or ():
        if ref.name in places and places[ref.name] not in claims:
            raise MissingObjectError(pod, ref, f"ResourceClaim {places[ref.name].name}")
    if pod.spec.node_name and all(claims[place].status.allocation for place in places.values()):
        return pod
    gate = PodSchedulingGate(name=GATE)
    spec = msgspec.structs.replace(pod.spec, scheduling_gates=(gate,))
    return msgspec.structs.replace(pod, spec=spec)


def _with_room(node: Node) -> Node:
    if node.status.allocatable:
        return node
    status = msgspec.structs.replace(node.status, allocatable=PLENTY)
    return msgspec.structs.replace(node, status=status)


def _missing_nodes(objects: tuple[AnyObject, ...], there: There) -> Iterator[Node]:
    """Where the manifests have no node at all: those that the slices name."""
    if any(isinstance(one, Node) for one in objects):
        return
    named = {one.spec.node_name or "" for one in _of(objects, ResourceSlice)}
    for name in sorted(named - {""} - there.nodes):
        yield Node(
            metadata=ObjectMeta(name=name, uid=f"node/{name}"),
            status=NodeStatus(allocatable=PLENTY),
        )
