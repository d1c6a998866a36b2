"""What a gated pod waits for before anybody can decide about it. Nothing is written here.

Only what nobody else says is said: kube-scheduler passes over gated pods without a word, while
Kubernetes' claim controller puts its own events on a pod whose claim it cannot make. So that gets
time to speak first.
"""

from typing import Final

import msgspec

from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import Address, Topic, Work
from dra_api_bridge.core.observed import claim_addresses
from dra_api_bridge.core.recorded import PodRecord
from dra_shared.kube.claims import ResourceClaim
from dra_shared.kube.core import Pod

SOON: Final = 3.0
"""Seconds: pods and claims come in two watches, and by hands that may write them in any order."""

LATER: Final = 30.0
"""Seconds for Kubernetes' claim controller, which says itself what keeps it."""

LATE: Final = 60.0
"""Seconds for the allocator, which answers within some even when thousands of pods come at once."""


class Lack(msgspec.Struct, frozen=True):
    """Something without which the pod waits; to be said once it has lasted for these seconds."""

    message: str
    patience: float


def claims_of(mirror: Mirror, pod: Pod) -> tuple[ResourceClaim, ...] | Lack:
    """The pod's claims in the order of its references, or what is wrong with the first that lacks."""
    found: list[ResourceClaim] = []
    templates = {
        wanted.name: wanted.resource_claim_template_name
        for wanted in pod.spec.resource_claims or ()
        if wanted.resource_claim_name is None
    }
    for name, place in claim_addresses(pod).items():
        claim = _claim(mirror, pod, place, templates.get(name), made=name in templates)
        if isinstance(claim, Lack):
            return claim
        found.append(claim)
    return tuple(found)


def lack(mirror: Mirror, pod: Pod, record: PodRecord | None) -> Lack | None:
    """Why the gated pod waits, if neither the log nor Kubernetes says it."""
    claims = claims_of(mirror, pod)
    if isinstance(claims, Lack):
        return claims
    works = [Work(Topic.CLAIM, claim.metadata.uid) for claim in claims]
    for work in (*works, Work(Topic.POD, pod.metadata.uid)):
        size = mirror.attempts.too_large.get(work)
        if size is not None:
            name = _name(claims, work) or f"pod {pod.metadata.name}"
            return Lack(f"{name} is too large to be recorded: {size} bytes", SOON)
    if record is None or (record.decision is None and record.trouble is None):
        return Lack("dra-ledger's allocator has not decided yet; is it running?", LATE)
    return None


def _claim(
    mirror: Mirror, pod: Pod, place: Address | None, template: str | None, *, made: bool
) -> ResourceClaim | Lack:
    if place is None:
        return Lack(f"Kubernetes has not made a claim from template {template} yet", LATER)
    claim = mirror.observed.claim_at(place)
    if claim is None:
        return Lack(f"claim {place.name} does not exist", LATER if made else SOON)
    if claim.metadata.deletion_timestamp is not None:
        return Lack(f"claim {place.name} is being deleted", SOON)
    if made and not _is_made_for(claim, pod):
        return Lack(f"claim {place.name} was made for another pod", LATER)
    return claim


def _is_made_for(claim: ResourceClaim, pod: Pod) -> bool:
    owners = claim.metadata.owner_references or ()
    return any(owner.uid == pod.metadata.uid for owner in owners)


def _name(claims: tuple[ResourceClaim, ...], work: Work) -> str:
    names = (each.metadata.name for each in claims if each.metadata.uid == work.name)
    return next((f"claim {name}" for name in names), "")
