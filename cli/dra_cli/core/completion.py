"""What manifests leave to a cluster: claims made from templates, pods for lone claims, nodes, gates.

Everything is made up from the objects alone, so that the same manifests always mean the same.
"""

from collections.abc import Iterable, Iterator
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


class NoSuchObjectError(Exception):
    """An object refers to another that is not among the manifests; whoever wrote them must act."""


def complete(objects: Iterable[AnyObject], only: str = "") -> tuple[KubeObject, ...]:
    """The objects with all that a decision needs. Raises NoSuchObjectError.

    `only`: the one pod (`name` or `namespace/name`) that asks for devices; others are left out
    unless they run already.
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
    known = {address(claim.metadata): claim for claim in claims}
    rest = [
        one for one in given if not isinstance(one, ResourceClaimTemplate | ResourceClaim | Pod)
    ]
    cluster = [_with_room(one) if isinstance(one, Node) else one for one in rest]
    waiting = tuple(_gated(pod, known) for pod in pods)
    chosen = tuple(pod for pod in waiting if not only or not is_gated(pod) or is_named(pod, only))
    if only and not any(is_named(pod, only) for pod in waiting):
        raise NoSuchObjectError(f"there is no pod {only} among the manifests")
    return (*cluster, *_missing_nodes(given), *claims, *chosen)


def is_named(pod: Pod, name: str) -> bool:
    """Whether `name` or `namespace/name` means the pod."""
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
            raise NoSuchObjectError(
                f"pod {namespace}/{pod.metadata.name} refers to the ResourceClaimTemplate "
                f"{ref.resource_claim_template_name}, which is not among the manifests"
            )
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
    """The pod behind our gate if it waits for devices. Raises NoSuchObjectError."""
    places = [place for place in claim_addresses(pod).values() if place is not None]
    if is_finished(pod) or not places or pod.metadata.deletion_timestamp is not None:
        return pod
    for place in places:
        if place not in claims:
            raise NoSuchObjectError(
                f"pod {pod.metadata.namespace}/{pod.metadata.name} uses the ResourceClaim "
                f"{place.name}, which is not among the manifests"
            )
    if pod.spec.node_name and all(claims[place].status.allocation for place in places):
        return pod
    gate = PodSchedulingGate(name=GATE)
    spec = msgspec.structs.replace(pod.spec, scheduling_gates=(gate,))
    return msgspec.structs.replace(pod, spec=spec)


def _with_room(node: Node) -> Node:
    if node.status.allocatable:
        return node
    status = msgspec.structs.replace(node.status, allocatable=PLENTY)
    return msgspec.structs.replace(node, status=status)


def _missing_nodes(objects: tuple[AnyObject, ...]) -> Iterator[Node]:
    """Where the manifests have no node at all: those that the slices name."""
    if any(isinstance(one, Node) for one in objects):
        return
    for name in sorted({one.spec.node_name or "" for one in _of(objects, ResourceSlice)} - {""}):
        yield Node(
            metadata=ObjectMeta(name=name, uid=f"node/{name}"),
            status=NodeStatus(allocatable=PLENTY),
        )
