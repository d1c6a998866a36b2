"""Which facts about claims and pods the log still lacks. At most one for each claim or pod at a time."""

from dra_api_bridge.core.fit import unschedulable
from dra_api_bridge.core.groups import group_of
from dra_api_bridge.core.mirror import Mirror, holders, misplaced, same_grant
from dra_api_bridge.core.objects import Topic, Work, reference
from dra_api_bridge.core.observed import is_finished, is_gated
from dra_api_bridge.core.placement import placement
from dra_api_bridge.core.recorded import ClaimRecord, Grant, PodRecord
from dra_api_bridge.core.waiting import Lack, claims_of
from dra_shared.events.claims import (
    ClaimRequested,
    ClaimWithdrawn,
    PodRequested,
    PodWithdrawn,
)
from dra_shared.events.mirror import (
    AllocationCleared,
    AllocationRefused,
    AllocationWritten,
    ClearedBy,
    ForeignAllocationObserved,
    PodRefused,
    PodUngated,
)
from dra_shared.kube.claims import MAX_RESERVED_FOR, ResourceClaim
from dra_shared.kube.core import Pod

ClaimFacts = (
    ClaimRequested
    | ClaimWithdrawn
    | AllocationWritten
    | AllocationRefused
    | AllocationCleared
    | ForeignAllocationObserved
)


def claim_fact(mirror: Mirror, uid: str) -> ClaimFacts | None:
    """What the log has to learn about the claim next."""
    seen, record = mirror.observed.claim(uid), mirror.recorded.claims.get(uid)
    if record is None:
        return _claim_requested(mirror, seen) if seen is not None else None
    if seen is None:
        return ClaimWithdrawn(claim=record.requested.claim)
    wanted = _claim_requested(mirror, seen)
    if record.grant is None and wanted.admin_namespace != record.requested.admin_namespace:
        return wanted
    return _allocation_fact(mirror, seen, record)


def pod_facts(mirror: Mirror, uid: str) -> tuple[ClaimRequested | PodRequested, ...]:
    """The pod's demand, behind that of its claims, where the log does not have it as it is."""
    seen, record = mirror.observed.pod(uid), mirror.recorded.pods.get(uid)
    if seen is None or not _waits(seen, record):
        return ()
    claims = claims_of(mirror, seen)
    if isinstance(claims, Lack):
        return ()
    wanted = _pod_requested(seen, claims)
    if record is not None and record.requested == wanted:
        return ()
    known = mirror.recorded.claims
    unknown = [claim for claim in claims if claim.metadata.uid not in known]
    return (*(_claim_requested(mirror, claim) for claim in unknown), wanted)


def pod_outcome(mirror: Mirror, uid: str) -> PodWithdrawn | PodUngated | PodRefused | None:
    """What the log has to learn about a pod that it knows."""
    seen, record = mirror.observed.pod(uid), mirror.recorded.pods.get(uid)
    if record is None:
        return None
    if seen is None or is_finished(seen):
        return PodWithdrawn(pod=record.requested.pod)
    if record.decision is None:
        return None
    if not is_gated(seen) and not record.ungated:
        return PodUngated(pod=record.requested.pod, node=record.decision.node)
    return _pod_refused(mirror, record)


def _waits(pod: Pod, record: PodRecord | None) -> bool:
    """Whether a decision is due: for a gated pod, and for one that lost its devices as it was bound."""
    if is_finished(pod) or pod.metadata.deletion_timestamp is not None:
        return False
    if record is None:
        return is_gated(pod)
    return record.decision is None and (is_gated(pod) or bool(pod.spec.node_name))


def _claim_requested(mirror: Mirror, seen: ResourceClaim) -> ClaimRequested:
    namespace = seen.metadata.namespace or ""
    return ClaimRequested(
        claim=reference(seen.metadata),
        spec=seen.spec,
        admin_namespace=_asks_admin(seen) and mirror.observed.allows_admin(namespace),
    )


def _asks_admin(seen: ResourceClaim) -> bool:
    return any(
        request.exactly is not None and request.exactly.admin_access
        for request in seen.spec.devices.requests or ()
    )


def _allocation_fact(mirror: Mirror, seen: ResourceClaim, record: ClaimRecord) -> ClaimFacts | None:
    shown, grant, ref = seen.status.allocation, record.grant, record.requested.claim
    if shown is None:
        return _absence_fact(mirror, record)
    if grant is not None and same_grant(shown, grant.allocation):
        if grant.written:
            return None
        version = seen.metadata.resource_version
        return AllocationWritten(claim=ref, node=grant.node or None, resource_version=version)
    if same_grant(shown, record.foreign):
        return None
    return ForeignAllocationObserved(claim=ref, allocation=shown)


def _absence_fact(mirror: Mirror, record: ClaimRecord) -> ClaimFacts | None:
    ref, grant = record.requested.claim, record.grant
    if grant is not None and (pod := misplaced(mirror, record, grant)) is not None:
        message = f"pod {pod.metadata.name} runs on node {pod.spec.node_name} already"
        return AllocationCleared(claim=ref, by=ClearedBy.BRIDGE, message=message)
    if grant is not None and not grant.written:
        refusal = mirror.attempts.refusals.get(Work(Topic.CLAIM, ref.uid))
        if refusal is None or refusal.sequence != grant.sequence:
            return None
        return AllocationRefused(claim=ref, status=refusal.status, message=refusal.message)
    if grant is not None:
        return _cleared(mirror, record, grant)
    if record.foreign is not None:
        return AllocationCleared(claim=ref, by=ClearedBy.OTHERS)
    return None


def _cleared(mirror: Mirror, record: ClaimRecord, grant: Grant) -> AllocationCleared:
    """Taken back by us for a reason we know, or by others.

    From a pod that waits to be scheduled it is kube-scheduler that takes, because the pod does
    not fit on the node; what it says about that comes a moment later.
    """
    ref = record.requested.claim
    ours = mirror.attempts.cleared.get(ref.uid)
    if ours is not None:
        return AllocationCleared(
            claim=ref, by=ClearedBy.BRIDGE, message=ours.message, unfit_node=ours.node
        )
    for pod in mirror.consumers(record):
        if not is_gated(pod) and not pod.spec.node_name:
            message = unschedulable(pod) or f"kube-scheduler could not use node {grant.node}"
            return AllocationCleared(
                claim=ref, by=ClearedBy.OTHERS, message=message, unfit_node=grant.node
            )
    return AllocationCleared(claim=ref, by=ClearedBy.OTHERS)


def _pod_requested(pod: Pod, claims: tuple[ResourceClaim, ...]) -> PodRequested:
    return PodRequested(
        pod=reference(pod.metadata),
        claims=tuple(dict.fromkeys(reference(claim.metadata) for claim in claims)),
        placement=placement(pod.spec),
        priority=pod.spec.priority or 0,
        group=group_of(pod.metadata),
    )


def _pod_refused(mirror: Mirror, record: PodRecord) -> PodRefused | None:
    """Why the decision cannot be carried out, if it is not the allocation that was refused."""
    ref, decision = record.requested.pod, record.decision
    if decision is None or record.noted:
        return None
    works = [Work(Topic.POD, ref.uid)]
    for uid in (*decision.claims, *decision.shared):
        claim = mirror.observed.claim(uid)
        if claim is None or claim.status.allocation is None:
            continue
        works.append(Work(Topic.CLAIM, uid))
        held = holders(claim)
        if len(held) >= MAX_RESERVED_FOR and ref.uid not in held:
            name = claim.metadata.name
            message = f"claim {name} is reserved for {MAX_RESERVED_FOR} pods, as many as may be"
            return PodRefused(pod=ref, status=0, message=message)
    for work in works:
        refusal = mirror.attempts.refusals.get(work)
        if refusal is not None and refusal.sequence == decision.sequence:
            return PodRefused(pod=ref, status=refusal.status, message=refusal.message)
    return None
