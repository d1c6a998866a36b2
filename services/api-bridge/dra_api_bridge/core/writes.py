"""Which writes the log asks for that the API does not show yet. Plans only; nothing is sent here."""

from collections.abc import Iterable, Sequence

import msgspec

from dra_api_bridge.core.attempts import Unfit
from dra_api_bridge.core.fit import shortage, unschedulable
from dra_api_bridge.core.mirror import Mirror, holders, misplaced, same_grant
from dra_api_bridge.core.objects import Topic, Work, reference
from dra_api_bridge.core.observed import is_finished, is_gated
from dra_api_bridge.core.recorded import ClaimRecord, Decision, PodRecord, Trouble
from dra_api_bridge.core.requests import Allocate, AnyWrite, Reserve, TakeBack, Tell, Ungate
from dra_api_bridge.core.waiting import lack
from dra_shared.kube.claims import (
    FINALIZER,
    MAX_RESERVED_FOR,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from dra_shared.kube.core import Pod


class Later(msgspec.Struct, frozen=True):
    """Nothing to write yet; worth another look after so many seconds."""

    seconds: float


def claim_write(mirror: Mirror, uid: str) -> Allocate | Reserve | None:
    """What the claim's status still lacks: the allocation, or the reservation for more pods."""
    seen, record = mirror.observed.claim(uid), mirror.recorded.claims.get(uid)
    if seen is None or record is None or seen.metadata.deletion_timestamp is not None:
        return None
    held = holders(seen)
    users = [pod for pod in mirror.consumers(record) if pod.metadata.uid not in held]
    if not users:
        return None
    plan = _allocate if seen.status.allocation is None else _reserve
    write: Allocate | Reserve | None = plan(mirror, seen, record, users)
    return write if write is not None and not _is_refused(mirror, write) else None


def pod_writes(mirror: Mirror, uid: str, now: float) -> Iterable[AnyWrite | Later]:
    """The step that the pod's decision asks for next; `now` in seconds of a clock that never jumps."""
    seen, record = mirror.observed.pod(uid), mirror.recorded.pods.get(uid)
    if seen is None and record is None:
        mirror.attempts.forget(Work(Topic.POD, uid))
    if seen is None or is_finished(seen) or seen.metadata.deletion_timestamp is not None:
        return ()
    if is_gated(seen):
        return (*_tell(mirror, seen, record, now), *_step(mirror, seen, record))
    if record is None:
        return ()
    message = None if seen.spec.node_name else unschedulable(seen)
    if message is None:
        return ()
    return _move(mirror, seen, record, message, now)


def _is_refused(mirror: Mirror, write: AnyWrite) -> bool:
    refusal = mirror.attempts.refusals.get(write.work)
    return refusal is not None and refusal.sequence == write.sequence


def _allocate(
    mirror: Mirror, seen: ResourceClaim, record: ClaimRecord, users: Sequence[Pod]
) -> Allocate | None:
    grant = record.grant
    if grant is None or grant.written or misplaced(mirror, record, grant) is not None:
        return None
    finalizers = seen.metadata.finalizers or ()
    return Allocate(
        work=Work(Topic.CLAIM, seen.metadata.uid),
        sequence=grant.sequence,
        claim=record.requested.claim,
        version=seen.metadata.resource_version,
        allocation=grant.allocation,
        reserved_for=_references(users)[:MAX_RESERVED_FOR],
        finalizers=None if FINALIZER in finalizers else finalizers,
    )


def _reserve(
    mirror: Mirror, seen: ResourceClaim, record: ClaimRecord, users: Sequence[Pod]
) -> Reserve | None:
    known = record.grant.allocation if record.grant is not None else record.foreign
    held = seen.status.reserved_for or ()
    room = MAX_RESERVED_FOR - len(held)
    if room <= 0 or not same_grant(seen.status.allocation, known):
        return None
    pods = (mirror.recorded.pods.get(user.metadata.uid) for user in users)
    decisions = (pod.decision for pod in pods if pod is not None)
    return Reserve(
        work=Work(Topic.CLAIM, seen.metadata.uid),
        sequence=max((each.sequence for each in decisions if each is not None), default=0),
        claim=record.requested.claim,
        version=seen.metadata.resource_version,
        reserved_for=(*held, *_references(users)[:room]),
    )


def _references(users: Sequence[Pod]) -> tuple[ResourceClaimConsumerReference, ...]:
    return tuple(
        ResourceClaimConsumerReference(
            resource="pods", name=pod.metadata.name, uid=pod.metadata.uid
        )
        for pod in users
    )


def _step(mirror: Mirror, seen: Pod, record: PodRecord | None) -> Iterable[AnyWrite]:
    """Lets the pod go once all its claims are shown as its own, if the node still has room."""
    decision = record.decision if record is not None else None
    if (
        record is None
        or decision is None
        or record.refused
        or not _is_ready(mirror, seen, decision)
    ):
        return ()
    lack = shortage(mirror.observed, seen, decision.node)
    if lack is not None:
        return _take_back(mirror, seen, record, lack)
    work = Work(Topic.POD, seen.metadata.uid)
    write = Ungate(work=work, sequence=decision.sequence, pod=seen)
    return () if _is_refused(mirror, write) else (write,)


def _tell(
    mirror: Mirror, seen: Pod, record: PodRecord | None, now: float
) -> Iterable[AnyWrite | Later]:
    """Says on the pod why it waits, once for each reason and not too often."""
    uid, lacking = seen.metadata.uid, lack(mirror, seen, record)
    if lacking is not None:
        waited = mirror.attempts.stuck_for(uid, lacking.message, now)
        if waited < lacking.patience:
            return (Later(lacking.patience - waited),)
        trouble = Trouble(message=lacking.message, sequence=0, time_ns=0)
    else:
        mirror.attempts.goes_on(uid)
        if record is None or record.trouble is None:
            return ()
        trouble = record.trouble
    pause = mirror.attempts.telling_waits(uid, trouble.message, now)
    if pause is None:
        return ()
    if pause > 0:
        return (Later(pause),)
    mirror.attempts.told(uid, trouble.message, now)
    return (
        Tell(
            work=Work(Topic.EVENT, uid),
            sequence=trouble.sequence,
            pod=reference(seen.metadata),
            message=trouble.message,
            time_ns=trouble.time_ns,
        ),
    )


def _is_ready(mirror: Mirror, pod: Pod, decision: Decision) -> bool:
    for uid in (*decision.claims, *decision.shared):
        claim, record = mirror.observed.claim(uid), mirror.recorded.claims.get(uid)
        if claim is None or record is None or pod.metadata.uid not in holders(claim):
            return False
        known = record.grant.allocation if record.grant is not None else record.foreign
        if not same_grant(claim.status.allocation, known):
            return False
    return True


def _move(
    mirror: Mirror, seen: Pod, record: PodRecord, message: str, now: float
) -> Iterable[AnyWrite | Later]:
    """Takes back what a pod holds that kube-scheduler could not place for a while."""
    uid = seen.metadata.uid
    shown = tuple(
        claim.metadata.resource_version if claim is not None else ""
        for claim in (mirror.observed.claim(ref.uid) for ref in record.requested.claims)
    )
    waited = mirror.attempts.stuck_for(uid, (message, shown), now)
    patience = mirror.attempts.patience(uid)
    writes = _take_back(mirror, seen, record, message)
    return writes if waited >= patience or not writes else (Later(patience - waited),)


def _take_back(mirror: Mirror, seen: Pod, record: PodRecord, message: str) -> tuple[TakeBack, ...]:
    """All that the pod alone holds by our decision; nothing if others hold a part with it."""
    uid, found = seen.metadata.uid, []
    for ref in record.requested.claims:
        claim, known = mirror.observed.claim(ref.uid), mirror.recorded.claims.get(ref.uid)
        if claim is None or known is None or claim.status.allocation is None:
            continue
        grant = known.grant
        if grant is None or not grant.written or holders(claim) - {uid}:
            return ()
        write = TakeBack(
            work=Work(Topic.CLAIM, ref.uid),
            sequence=grant.sequence,
            claim=reference(claim.metadata),
            version=claim.metadata.resource_version,
            unfit=Unfit(grant.node, message),
        )
        if _is_refused(mirror, write) or not same_grant(claim.status.allocation, grant.allocation):
            return ()
        found.append(write)
    return tuple(found)
