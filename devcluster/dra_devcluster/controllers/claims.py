"""The claim controller: makes claims from templates and takes back what no pod uses any more.

It follows Kubernetes' own: it deallocates only when its own removal empties ``reservedFor``, and
when a deleted claim is held by nobody. A claim that was allocated and never reserved it leaves
alone.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from dra_devcluster.api.admission import FINALIZER
from dra_devcluster.api.cluster import STATUS, Cluster
from dra_devcluster.api.resources import CLAIMS, PODS, TEMPLATES, Key, Object, Resource, key_of
from dra_devcluster.api.store import Event
from dra_devcluster.controllers.events import tell
from dra_devcluster.controllers.pods import (
    claim_keys,
    claim_name,
    is_finished,
    is_reserved_for,
    needs_no_devices,
    owner,
)

CREATION_FAILED: Final = "FailedResourceClaimCreation"
POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"


class Concern(msgspec.Struct, frozen=True):
    """A pod whose claims, or a claim whose consumers, are to be looked at."""

    resource: Resource
    key: Key


class ClaimController:
    """Keeps claims in step with the pods that use them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def concerns(self, event: Event) -> Iterator[Concern]:
        """A pod and its claims; a claim and its owner; a template's waiting pods."""
        key = key_of(event.after)
        if event.resource == PODS:
            yield Concern(PODS, key)
            for claim in claim_keys(event.after):
                yield Concern(CLAIMS, claim)
        elif event.resource == CLAIMS:
            yield Concern(CLAIMS, key)
            yield from self._consumers(key, event.after)
        elif event.resource == TEMPLATES:
            for pod in self._cluster.scan(PODS, key.namespace):
                yield Concern(PODS, key_of(pod))

    def _consumers(self, key: Key, claim: Object) -> Iterator[Concern]:
        if owning := owner(claim, "Pod"):
            yield Concern(PODS, Key(key.namespace, owning["name"]))
            return
        for pod in self._cluster.scan(PODS, key.namespace):
            if key in claim_keys(pod):
                yield Concern(PODS, key_of(pod))

    def reconcile(self, key: Concern) -> None:
        """Bring one pod's claims or one claim's consumers in order."""
        found = self._cluster.find(key.resource, key.key)
        if found is None:
            return
        if key.resource == PODS:
            self._reconcile_pod(key.key, found)
        else:
            self._reconcile_claim(key.key, found)

    def _reconcile_pod(self, key: Key, pod: Object) -> None:
        if is_finished(pod) or "deletionTimestamp" in pod["metadata"]:
            return
        for pod_claim in pod["spec"].get("resourceClaims", []):
            if claim_name(pod, pod_claim) is None:
                self._make_claim(key, pod, pod_claim)
        if pod["spec"].get("nodeName"):
            self._reserve(pod)

    def _make_claim(self, key: Key, pod: Object, pod_claim: Object) -> None:
        template_key = Key(key.namespace, pod_claim["resourceClaimTemplateName"])
        template = self._cluster.find(TEMPLATES, template_key)
        if template is None:
            self._tell_missing(pod, pod_claim)
            return
        claim = self._existing_claim(pod, pod_claim["name"]) or self._cluster.create(
            CLAIMS, key.namespace, claim_from_template(template, pod, pod_claim["name"])
        )
        entry = {"name": pod_claim["name"], "resourceClaimName": claim["metadata"]["name"]}
        self._cluster.change(PODS, key, lambda old: _with_claim_status(old, entry), STATUS)

    def _tell_missing(self, pod: Object, pod_claim: Object) -> None:
        template = pod_claim["resourceClaimTemplateName"]
        missing = f'resourceclaimtemplate.resource.k8s.io "{template}" not found'
        message = f'PodResourceClaim {pod_claim["name"]}: resource claim template "{template}"'
        tell(self._cluster, "resource_claim", pod, CREATION_FAILED, f"{message}: {missing}")

    def _existing_claim(self, pod: Object, pod_claim: str) -> Object | None:
        for claim in self._cluster.scan(CLAIMS, pod["metadata"]["namespace"]):
            named = claim["metadata"].get("annotations", {}).get(POD_CLAIM)
            owning = owner(claim, "Pod")
            if owning and owning["uid"] == pod["metadata"]["uid"] and named == pod_claim:
                return claim
        return None

    def _reserve(self, pod: Object) -> None:
        """A pod that came to its node without the scheduler still needs its claims reserved."""
        metadata = pod["metadata"]
        consumer = {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}
        for key in claim_keys(pod):
            claim = self._cluster.find(CLAIMS, key)
            if not claim or "allocation" not in claim["status"] or is_reserved_for(claim, pod):
                continue
            reserved = [*claim["status"].get("reservedFor", []), consumer]
            status = {**claim["status"], "reservedFor": reserved}
            self._cluster.replace(CLAIMS, key, {**claim, "status": status}, STATUS)

    def _reconcile_claim(self, key: Key, claim: Object) -> None:
        reserved = claim["status"].get("reservedFor", [])
        using = [entry for entry in reserved if self._is_used_by(key.namespace, entry)]
        held = FINALIZER in claim["metadata"].get("finalizers", [])
        deleting = "deletionTimestamp" in claim["metadata"]
        emptied = bool(reserved) and not using
        if len(using) < len(reserved) or (deleting and held and not using):
            release = held and (emptied or deleting) and not using
            claim = self._write_status(key, claim, using, release=release)
        if held and not using and (emptied or deleting):
            self._remove_finalizer(key, claim)
        if not deleting and self._belongs_to_finished_pod(key.namespace, claim):
            self._cluster.delete(CLAIMS, key)

    def _is_used_by(self, namespace: str, consumer: Object) -> bool:
        if consumer["resource"] != "pods" or consumer.get("apiGroup"):
            return True
        pod = self._cluster.find(PODS, Key(namespace, consumer["name"]))
        same = pod is not None and pod["metadata"]["uid"] == consumer["uid"]
        return pod is not None and same and not needs_no_devices(pod)

    def _write_status(
        self, key: Key, claim: Object, using: list[Object], *, release: bool
    ) -> Object:
        status = {**claim["status"], "reservedFor": using}
        if not using:
            del status["reservedFor"]
        if release:
            status.pop("allocation", None)
        return self._cluster.replace(CLAIMS, key, {**claim, "status": status}, STATUS)

    def _remove_finalizer(self, key: Key, claim: Object) -> None:
        finalizers = [name for name in claim["metadata"]["finalizers"] if name != FINALIZER]
        metadata = {**claim["metadata"], "finalizers": finalizers}
        self._cluster.replace(CLAIMS, key, {**claim, "metadata": metadata})

    def _belongs_to_finished_pod(self, namespace: str, claim: Object) -> bool:
        owning = owner(claim, "Pod")
        pod = self._cluster.find(PODS, Key(namespace, owning["name"])) if owning else None
        if owning is None or pod is None or pod["metadata"]["uid"] != owning["uid"]:
            return False
        return is_finished(pod)


def claim_from_template(template: Object, pod: Object, pod_claim: str) -> Object:
    """The claim that a pod's entry asks for, owned by the pod."""
    extra = template["spec"].get("metadata", {})
    metadata = pod["metadata"]
    owning = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    annotations = {**extra.get("annotations", {}), POD_CLAIM: pod_claim}
    return {
        "metadata": {
            "generateName": f"{metadata['name']}-{pod_claim}-",
            "annotations": annotations,
            "labels": dict(extra.get("labels", {})),
            "ownerReferences": [owning],
        },
        "spec": template["spec"]["spec"],
    }


def _with_claim_status(pod: Object, entry: Object) -> Object:
    statuses = pod["status"].get("resourceClaimStatuses", [])
    others = [status for status in statuses if status["name"] != entry["name"]]
    return {**pod, "status": {**pod["status"], "resourceClaimStatuses": [*others, entry]}}
