"""The facts that the log lacks about a piece of work, each with its id. Nothing is appended here.

A fact's id says what it is about and which fact of the bridge's own it follows: the same finding
never has two ids, and a fact waits until the one before it was read back. What is too large for
an event is noted, and what would stand behind it is not said either.
"""

from collections.abc import Iterable
from typing import Final

from dra_api_bridge.core.attempts import LARGEST
from dra_api_bridge.core.cluster import cluster_fact
from dra_api_bridge.core.demand import claim_fact, pod_facts, pod_outcome
from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import Topic, Work
from dra_shared.events.claims import ClaimRequested
from dra_shared.events.envelope import AnyFact, Envelope, encode
from dra_shared.events.mirror import MirrorFact, SliceRefused

WRITER: Final = "api-bridge"


def new_facts(mirror: Mirror, works: Iterable[Work], actor: str) -> list[Envelope]:
    """The events to append, in this order; from then on they count as under way."""
    found: list[Envelope] = []
    for work in works:
        mirror.attempts.too_large.pop(work, None)
        for about, fact in _facts(mirror, work):
            event = enveloped(mirror, about, fact, actor)
            if mirror.attempts.is_unread(event.id):
                continue
            if (size := len(encode(event))) > LARGEST:
                mirror.attempts.too_large[about] = size
                break
            mirror.attempts.appended(event.id)
            found.append(event)
    return found


def enveloped(mirror: Mirror, about: Work, fact: AnyFact, actor: str) -> Envelope:
    """The fact as an event; what the API showed has no cause in the log."""
    name = "/".join(part for part in about if part)
    return Envelope(
        id=f"{WRITER}/{name}/{mirror.recorded.last(about)}",
        cause=mirror.recorded.applied if isinstance(fact, MirrorFact) else 0,
        correlation=about.name,
        actor=actor,
        fact=fact,
    )


def _facts(mirror: Mirror, work: Work) -> Iterable[tuple[Work, AnyFact]]:
    match work.topic:
        case Topic.CLAIM:
            claim = claim_fact(mirror, work.name)
            return [(work, claim)] if claim is not None else []
        case Topic.POD:
            return _pod_facts(mirror, work)
        case Topic.POOL:
            known = cluster_fact(mirror, work) or _slice_refused(mirror, work)
            return [(work, known)] if known is not None else []
        case _:
            seen = cluster_fact(mirror, work)
            return [(work, seen)] if seen is not None else []


def _pod_facts(mirror: Mirror, work: Work) -> Iterable[tuple[Work, AnyFact]]:
    outcome = pod_outcome(mirror, work.name)
    if outcome is not None:
        yield work, outcome
        return
    for fact in pod_facts(mirror, work.name):
        if isinstance(fact, ClaimRequested):
            yield Work(Topic.CLAIM, fact.claim.uid), fact
        else:
            yield work, fact


def _slice_refused(mirror: Mirror, work: Work) -> SliceRefused | None:
    record = mirror.recorded.pools.get((work.name, work.pool))
    refusal = mirror.attempts.refusals.get(work)
    if record is None or refusal is None or record.noted or refusal.sequence != record.sequence:
        return None
    return SliceRefused(
        driver=work.name, pool=work.pool, status=refusal.status, message=refusal.message
    )
