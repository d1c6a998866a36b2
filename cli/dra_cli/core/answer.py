"""What came of a rehearsal: the changed objects for the next command, and why for people."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

import msgspec

from dra_api_bridge.core.objects import KubeObject
from dra_cli.core.explanation import GrantRow, grants
from dra_cli.core.manifests import Manifest
from dra_shared.events.allocations import (
    AllocatedClaim,
    AllocationFact,
    ClaimAllocated,
    ClaimUnsatisfiable,
    Reason,
)
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import ResourceClaim
from dra_shared.kube.core import Pod

Decision = ClaimAllocated | ClaimUnsatisfiable


class PodAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pod goes and what its claims get, or why it cannot go anywhere.

    `reasons` count `devices`, all that were looked at on all `nodes`.
    """

    pod: str
    node: str | None = None
    claims: dict[str, tuple[GrantRow, ...]] = msgspec.field(default_factory=dict)
    shared: tuple[str, ...] = ()
    refusal: str = ""
    summary: str = ""
    nodes: int = 0
    devices: int = 0
    reasons: tuple[Reason, ...] = ()


def last_words(facts: Iterable[AllocationFact]) -> tuple[Decision, ...]:
    """The last decision on each pod, in the order of the first."""
    words: dict[str, Decision] = {}
    for fact in facts:
        if isinstance(fact, Decision):
            words[fact.pod.uid] = fact
    return tuple(words.values())


def explained(decision: Decision) -> PodAnswer:
    """The decision for people and programs."""
    match decision:
        case ClaimAllocated():
            return PodAnswer(
                pod=str(decision.pod),
                node=decision.node,
                claims={str(one.claim): tuple(grants(one)) for one in decision.claims},
                shared=tuple(map(str, decision.shared)),
            )
        case ClaimUnsatisfiable():
            return PodAnswer(
                pod=str(decision.pod),
                refusal=decision.refusal,
                summary=decision.summary,
                nodes=decision.nodes,
                devices=decision.devices,
                reasons=decision.reasons,
            )


def changed_objects(
    decisions: Iterable[Decision], manifests: Iterable[Manifest], objects: Iterable[KubeObject]
) -> Iterator[dict[str, Any]]:
    """The claims with their allocations, the pods with their nodes, each as its manifest has it.

    Without a time: nothing happened yet. Pods that were made up for lone claims are left out.
    """
    contents = {one.object.metadata.uid: one.document.content for one in manifests}
    known = {one.metadata.uid: one for one in objects}
    for decision in decisions:
        if isinstance(decision, ClaimAllocated):
            for got in decision.claims:
                yield _claim(got, contents.get(got.claim.uid), known[got.claim.uid])
            content, pod = contents.get(decision.pod.uid), known[decision.pod.uid]
            if content is not None and isinstance(pod, Pod):
                yield _pod(content, pod, decision.node)


def _claim(got: AllocatedClaim, content: Any, claim: KubeObject) -> dict[str, Any]:
    allocation = msgspec.structs.replace(got.allocation, allocation_timestamp=None)
    changed = deepcopy(content) if content is not None else _written(got.claim, claim)
    changed["status"] = {
        **(changed.get("status") or {}),
        "allocation": msgspec.to_builtins(allocation),
    }
    return changed


def _written(ref: ObjectRef, claim: KubeObject) -> dict[str, Any]:
    """A claim that no manifest has: made from a template, or one of the log."""
    assert isinstance(claim, ResourceClaim)
    metadata: dict[str, Any] = {"name": ref.name, "namespace": ref.namespace, "uid": ref.uid}
    if claim.metadata.owner_references:
        metadata["ownerReferences"] = msgspec.to_builtins(claim.metadata.owner_references)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": msgspec.to_builtins(claim.spec),
    }


def _pod(content: dict[str, Any], pod: Pod, node: str) -> dict[str, Any]:
    changed = deepcopy(content)
    changed["spec"]["nodeName"] = node
    statuses = pod.status.resource_claim_statuses
    if statuses:
        status = changed.get("status") or {}
        changed["status"] = {**status, "resourceClaimStatuses": msgspec.to_builtins(statuses)}
    return changed
