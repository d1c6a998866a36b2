"""The scheduler: puts pods without gates on nodes that fit, and never allocates a device.

A pod goes when all its claims are allocated. Like kube-scheduler it then reserves claims that are
not yet reserved, names what kept it from every node otherwise, and takes back the allocation of a
claim that holds the pod to nodes it does not fit. Not there: priorities, preemption, spreading,
affinity between pods, volumes.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from dra_devcluster.api.binding import bind
from dra_devcluster.api.cluster import STATUS, Cluster
from dra_devcluster.api.conditions import with_condition
from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.resources import CLAIMS, NODES, PODS, Key, Object, key_of
from dra_devcluster.api.store import Change, Event
from dra_devcluster.controllers.fit import Amounts, allocatable, requested, shortages
from dra_devcluster.controllers.node_selection import (
    is_wanted_by,
    matches_selector,
    untolerated_taint,
)
from dra_devcluster.controllers.pods import claim_keys, claim_name, is_finished, is_reserved_for

UNAVAILABLE: Final = "resourceclaim not available on the node"
REFUSED: Final = 422


class Unschedulable(msgspec.Struct, frozen=True):
    """No node will do, and in the scheduler's words why."""

    message: str
    claims_in_the_way: bool = False


class Scheduler:
    """Binds waiting pods; knows what runs where from the events it saw."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._waiting: dict[Key, None] = {}
        self._used: dict[str, dict[Key, Amounts]] = {}

    def concerns(self, event: Event) -> Iterator[Key]:
        """A waiting pod that changed, or whose claim did; all of them when room may have come."""
        key = key_of(event.after)
        if event.resource == PODS:
            room = self._note(key, event)
            yield from list(self._waiting) if room else [key] if key in self._waiting else []
        elif event.resource == NODES:
            yield from list(self._waiting)
        elif event.resource == CLAIMS:
            for waiting in list(self._waiting):
                pod = self._cluster.find(PODS, waiting)
                if pod and key in claim_keys(pod):
                    yield waiting

    def _note(self, key: Key, event: Event) -> bool:
        """Remember where the pod is; True if it left room."""
        pod, gone = event.after, event.change is Change.DELETED
        node = pod["spec"].get("nodeName")
        over = gone or is_finished(pod)
        self._waiting.pop(key, None)
        if node is None and not over:
            self._waiting[key] = None
        elif node and over:
            return self._used.get(node, {}).pop(key, None) is not None
        elif node:
            self._used.setdefault(node, {})[key] = requested(pod)
        return False

    def reconcile(self, key: Key) -> None:
        """Bind the pod, or say in its conditions why not."""
        pod = self._cluster.find(PODS, key)
        if pod is None or pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
            return
        if pod["spec"].get("schedulingGates"):
            return
        claims = self._ready_claims(pod)
        outcome = claims if isinstance(claims, Unschedulable) else self._place(pod, claims)
        if isinstance(outcome, Unschedulable):
            self._explain(key, "Unschedulable", outcome.message)
            if outcome.claims_in_the_way and not isinstance(claims, Unschedulable):
                self._deallocate_one(pod, claims)
            return
        try:
            self._reserve(pod, claims if isinstance(claims, list) else [])
        except ApiError as refusal:
            if refusal.code != REFUSED:
                raise
            self._explain(key, "SchedulerError", refusal.message)
            return
        self._bind(key, pod, outcome)

    def _ready_claims(self, pod: Object) -> list[Object] | Unschedulable:
        claims: list[Object] = []
        for pod_claim in pod["spec"].get("resourceClaims", []):
            name = claim_name(pod, pod_claim)
            if name is None:
                why = "pod status has not been updated with the claim name of"
                return Unschedulable(f"{why} {pod_claim['name']!r}")
            claim = self._cluster.find(CLAIMS, Key(pod["metadata"]["namespace"], name))
            if claim is None:
                return Unschedulable(f'waiting for resourceclaim "{name}" to be created')
            if "deletionTimestamp" in claim["metadata"]:
                return Unschedulable(f'resourceclaim "{name}" is being deleted')
            if "allocation" not in claim["status"]:
                return Unschedulable(
                    f'resourceclaim "{name}" is not allocated, and this scheduler allocates none'
                )
            claims.append(claim)
        return claims

    def _place(self, pod: Object, claims: list[Object]) -> str | Unschedulable:
        """The emptiest node that fits, by name where that is a tie."""
        nodes = list(self._cluster.scan(NODES))
        reasons = {node["metadata"]["name"]: self._misfits(node, pod, claims) for node in nodes}
        fitting = [name for name, misfits in reasons.items() if not misfits]
        if fitting:
            emptiest: str = min(fitting, key=lambda name: (len(self._used.get(name, {})), name))
            return emptiest
        counted = Counter(word for misfits in reasons.values() for word in misfits)
        words = sorted(f"{count} {word}" for word, count in counted.items())
        why = ", ".join(words) or "no nodes available to schedule pods"
        message = f"0/{len(nodes)} nodes are available: {why}."
        return Unschedulable(message, claims_in_the_way=UNAVAILABLE in counted)

    def _misfits(self, node: Object, pod: Object, claims: list[Object]) -> list[str]:
        """What keeps the pod from the node: the first hindrance, in kube-scheduler's order."""
        if node["spec"].get("unschedulable"):
            return ["node(s) were unschedulable"]
        if untolerated_taint(node, pod):
            return ["node(s) had untolerated taint(s)"]
        if not is_wanted_by(node, pod):
            return ["node(s) didn't match Pod's node affinity/selector"]
        used = self._used.get(node["metadata"]["name"], {}).values()
        if short := shortages(requested(pod), allocatable(node), used):
            return short
        selectors = (claim["status"]["allocation"].get("nodeSelector") for claim in claims)
        if any(selector and not matches_selector(node, selector) for selector in selectors):
            return [UNAVAILABLE]
        return []

    def _deallocate_one(self, pod: Object, claims: list[Object]) -> None:
        """As PostFilter does: one claim that only this pod holds loses its allocation."""
        for claim in claims:
            consumers = {entry["uid"] for entry in claim["status"].get("reservedFor", [])}
            if consumers <= {pod["metadata"]["uid"]} and self._is_in_the_way(claim):
                self._cluster.replace(CLAIMS, key_of(claim), {**claim, "status": {}}, STATUS)
                return

    def _is_in_the_way(self, claim: Object) -> bool:
        selector = claim["status"]["allocation"].get("nodeSelector")
        nodes = self._cluster.scan(NODES)
        return bool(selector) and not all(matches_selector(node, selector) for node in nodes)

    def _reserve(self, pod: Object, claims: list[Object]) -> None:
        """Reserve what is not reserved; an allocation without a timestamp is refused (422)."""
        metadata = pod["metadata"]
        consumer = {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}
        for claim in claims:
            if is_reserved_for(claim, pod):
                continue
            stamped = {"allocationTimestamp": self._cluster.now(), **claim["status"]["allocation"]}
            reserved = [*claim["status"].get("reservedFor", []), consumer]
            status = {**claim["status"], "allocation": stamped, "reservedFor": reserved}
            self._cluster.replace(CLAIMS, key_of(claim), {**claim, "status": status}, STATUS)

    def _bind(self, key: Key, pod: Object, node: str) -> None:
        bind(self._cluster, key, {"metadata": pod["metadata"], "target": {"name": node}})
        self._waiting.pop(key, None)
        self._used.setdefault(node, {})[key] = requested(pod)

    def _explain(self, key: Key, reason: str, message: str) -> None:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": self._cluster.now(),
        }

        def explained(pod: Object) -> Object:
            return {**pod, "status": with_condition(pod["status"], condition)}

        self._cluster.change(PODS, key, explained, STATUS)
