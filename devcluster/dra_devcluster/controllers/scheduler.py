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
from dra_devcluster.api.conditions import condition, with_condition
from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.resources import CLAIMS, NODES, PODS, Key, Object, key_of
from dra_devcluster.api.store import Change, Event
from dra_devcluster.controllers.events import tell
from dra_devcluster.controllers.fit import Amounts, allocatable, requested, shortages
from dra_devcluster.controllers.node_selection import (
    is_wanted_by,
    matches_selector,
    untolerated_taint,
)
from dra_devcluster.controllers.pods import claim_keys, is_finished, is_reserved_for

UNAVAILABLE: Final = "resourceclaim not available on the node"
UNALLOCATED: Final = "cannot allocate all claims"
COMPONENT: Final = "default-scheduler"
REFUSED: Final = 422


class Unschedulable(msgspec.Struct, frozen=True):
    """No node will do: how many there are, and how many fail for which reason."""

    nodes: int
    reasons: Counter[str]

    def message(self, *, deallocated: bool) -> str:
        """The reasons in kube-scheduler's words."""
        available = f"0/{self.nodes} nodes are available:"
        counted = sorted(f"{count} {word}" for word, count in self.reasons.items())
        why = ", ".join(counted) or "no nodes available to schedule pods"
        useless = f"{self.nodes} Preemption is not helpful for scheduling."
        done = "deallocation of ResourceClaim completed, " if deallocated else ""
        return f"{available} {why}. {done}preemption: {available} {useless}"


class Scheduler:
    """Binds waiting pods; knows what runs where from the events it saw."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._waiting: dict[Key, frozenset[Key]] = {}
        """Pods without a node, each with its claims."""
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
            yield from [pod for pod, claims in self._waiting.items() if key in claims]

    def _note(self, key: Key, event: Event) -> bool:
        """Remember where the pod is; True if it left room."""
        pod, gone = event.after, event.change is Change.DELETED
        node = pod["spec"].get("nodeName")
        over = gone or is_finished(pod)
        self._waiting.pop(key, None)
        if node is None and not over:
            self._waiting[key] = frozenset(claim_keys(pod))
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
        claims = self._claims(pod)
        if pod["spec"].get("schedulingGates") or claims is None:
            return
        outcome = self._place(pod, claims)
        if isinstance(outcome, Unschedulable):
            deallocated = UNAVAILABLE in outcome.reasons and self._deallocate_one(pod, claims)
            self._explain(key, "Unschedulable", outcome.message(deallocated=deallocated))
            return
        try:
            self._reserve(pod, claims)
        except ApiError as refusal:
            if refusal.code != REFUSED:
                raise
            self._explain(key, "SchedulerError", refusal.message)
            return
        self._bind(key, pod, outcome)

    def _claims(self, pod: Object) -> list[Object] | None:
        """The pod's claims, None while one does not exist: the pod is not looked at till then."""
        keys = list(claim_keys(pod))
        found = [claim for key in keys if (claim := self._cluster.find(CLAIMS, key))]
        usable = [claim for claim in found if "deletionTimestamp" not in claim["metadata"]]
        return usable if len(usable) == len(pod["spec"].get("resourceClaims", [])) else None

    def _place(self, pod: Object, claims: list[Object]) -> str | Unschedulable:
        """The emptiest node that fits, by name where that is a tie."""
        nodes = list(self._cluster.scan(NODES))
        misfits = {node["metadata"]["name"]: self._misfits(node, pod, claims) for node in nodes}
        fitting = [name for name, reasons in misfits.items() if not reasons]
        if fitting:
            emptiest: str = min(fitting, key=lambda name: (len(self._used.get(name, {})), name))
            return emptiest
        counted = Counter(word for reasons in misfits.values() for word in reasons)
        return Unschedulable(len(nodes), counted)

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
        allocations = [claim["status"].get("allocation") for claim in claims]
        if any(one and not _is_available(one, node) for one in allocations):
            return [UNAVAILABLE]
        return [] if all(allocations) else [UNALLOCATED]

    def _deallocate_one(self, pod: Object, claims: list[Object]) -> bool:
        """As PostFilter does: one claim that only this pod holds loses its allocation."""
        for claim in claims:
            consumers = {entry["uid"] for entry in claim["status"].get("reservedFor", [])}
            if consumers <= {pod["metadata"]["uid"]} and self._is_in_the_way(claim):
                self._cluster.replace(CLAIMS, key_of(claim), {**claim, "status": {}}, STATUS)
                return True
        return False

    def _is_in_the_way(self, claim: Object) -> bool:
        allocation = claim["status"].get("allocation")
        nodes = self._cluster.scan(NODES)
        return bool(allocation) and not all(_is_available(allocation, node) for node in nodes)

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
        where = f"{key.namespace}/{key.name}"
        tell(self._cluster, COMPONENT, pod, "Scheduled", f"Successfully assigned {where} to {node}")

    def _explain(self, key: Key, reason: str, message: str) -> None:
        pod = self._cluster.get(PODS, key)
        new = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": self._cluster.now(),
            "observedGeneration": pod["metadata"]["generation"],
        }
        known = condition(pod["status"], "PodScheduled")
        status = with_condition(pod["status"], new)
        self._cluster.replace(PODS, key, {**pod, "status": status}, STATUS)
        if known is None or known.get("message") != message:
            tell(self._cluster, COMPONENT, pod, "FailedScheduling", message)


def _is_available(allocation: Object, node: Object) -> bool:
    selector = allocation.get("nodeSelector")
    return selector is None or matches_selector(node, selector)
