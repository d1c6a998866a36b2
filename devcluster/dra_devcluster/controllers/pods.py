"""What several controllers ask about pods and their claims. Plain questions, no writes."""

from collections.abc import Iterator
from typing import Final

from dra_devcluster.api.resources import Key, Object

FINISHED: Final = ("Succeeded", "Failed")


def is_finished(pod: Object) -> bool:
    """It will not run any more."""
    return pod.get("status", {}).get("phase") in FINISHED


def needs_no_devices(pod: Object) -> bool:
    """Nobody will use its devices: it is over, or was deleted before it got a node."""
    metadata, spec = pod["metadata"], pod["spec"]
    return is_finished(pod) or ("deletionTimestamp" in metadata and not spec.get("nodeName"))


def claim_name(pod: Object, pod_claim: Object) -> str | None:
    """The claim behind an entry of ``spec.resourceClaims``; None while it does not exist."""
    if name := pod_claim.get("resourceClaimName"):
        return str(name)
    statuses = pod.get("status", {}).get("resourceClaimStatuses", [])
    names = {entry["name"]: entry.get("resourceClaimName") for entry in statuses}
    return names.get(pod_claim["name"])


def claim_keys(pod: Object) -> Iterator[Key]:
    """The claims that the pod uses, as far as they exist."""
    for pod_claim in pod["spec"].get("resourceClaims", []):
        if name := claim_name(pod, pod_claim):
            yield Key(pod["metadata"]["namespace"], name)


def is_reserved_for(claim: Object, pod: Object) -> bool:
    """The pod may use the claim's devices."""
    uid = pod["metadata"]["uid"]
    return any(entry["uid"] == uid for entry in claim["status"].get("reservedFor", []))


def owner(obj: Object, kind: str) -> Object | None:
    """The owner reference of that kind, or None."""
    owners = obj["metadata"].get("ownerReferences", [])
    return next((entry for entry in owners if entry["kind"] == kind), None)
