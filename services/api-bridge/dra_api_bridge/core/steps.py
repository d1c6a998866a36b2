"""Which writes a piece of work asks for now, and what their outcome means. Nothing is sent here."""

from collections.abc import Iterable

import msgspec

from dra_api_bridge.core.attempts import Refusal
from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import Topic, Work
from dra_api_bridge.core.requests import AnyWrite, SliceWrite, TakeBack, Tell
from dra_api_bridge.core.slices import lost_fields, slice_writes
from dra_api_bridge.core.writes import Later, claim_write, pod_writes
from dra_shared.kube.devices import ResourceSlice


def next_writes(mirror: Mirror, work: Work, now: float) -> Iterable[AnyWrite | Later]:
    """The writes that can be sent; they count as under way from then on."""
    for write in _planned(mirror, work, now):
        if isinstance(write, Later):
            yield write
        elif mirror.may_write(write.target):
            begin(mirror, write)
            yield write


def begin(mirror: Mirror, write: AnyWrite) -> None:
    """Notes that the write is being sent."""
    mirror.attempts.started(write.target)
    if isinstance(write, TakeBack):
        mirror.attempts.cleared[write.claim.uid] = write.unfit
        record = mirror.recorded.claims.get(write.claim.uid)
        for pod in record.consumers if record is not None else ():
            mirror.attempts.moved(pod)


def end(mirror: Mirror, write: AnyWrite, version: int, body: bytes) -> tuple[str, ...]:
    """Notes that the server took the write; returns the fields it dropped."""
    mirror.attempts.ended(write.target, 0 if isinstance(write, Tell) else version)
    if not isinstance(write, SliceWrite) or not body:
        return ()
    taken = msgspec.json.decode(body, type=ResourceSlice)
    lost = lost_fields(taken.spec, write.item.spec)
    if lost:
        name = write.item.metadata.name
        mirror.attempts.accepted[name] = (write.sequence, taken.spec)
        message = f"the API server dropped {', '.join(lost)}: is a feature gate off?"
        mirror.attempts.refusals[write.work] = Refusal(write.sequence, 200, message)
    return lost


def miss(mirror: Mirror, write: AnyWrite) -> None:
    """Notes that the write was not taken, or nobody knows: its time may come again."""
    mirror.attempts.ended(write.target, 0)
    if isinstance(write, TakeBack):
        mirror.attempts.cleared.pop(write.claim.uid, None)


def refuse(mirror: Mirror, write: AnyWrite, status: int, message: str) -> None:
    """Notes that the server will not take the write."""
    miss(mirror, write)
    mirror.attempts.refusals[write.work] = Refusal(write.sequence, status, message)


def _planned(mirror: Mirror, work: Work, now: float) -> Iterable[AnyWrite | Later]:
    match work.topic:
        case Topic.CLAIM:
            write = claim_write(mirror, work.name)
            return (write,) if write is not None else ()
        case Topic.POD:
            return pod_writes(mirror, work.name, now)
        case Topic.POOL:
            return slice_writes(mirror, work.name, work.pool)
        case _:
            return ()
