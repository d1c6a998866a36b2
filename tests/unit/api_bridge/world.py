"""Builders for the bridge's core: a mirror that is told objects and facts, and what it then asks for."""

from collections.abc import Iterable
from typing import Any

import msgspec

from dra_api_bridge.core.facts import new_facts
from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import SHAPES, Address, Kind, KubeObject, Work, address
from dra_api_bridge.core.observed import Change
from dra_api_bridge.core.requests import AnyWrite
from dra_api_bridge.core.steps import next_writes
from dra_api_bridge.core.writes import Later
from dra_shared.events.allocations import AllocatedClaim, ClaimAllocated
from dra_shared.events.cluster import FeaturesObserved
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.subjects import subject
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import AllocationResult
from dra_shared.log.protocol import Record

AT = "2026-11-30T12:00:00Z"
FINALIZER = "resource.kubernetes.io/delete-protection"
GATE = "dra-ledger.io/allocation"
Json = dict[str, Any]


def ref(name: str) -> ObjectRef:
    """A claim or pod of the namespace `ns`; its uid tells its name."""
    return ObjectRef("ns", name, f"{name}-uid")


def meta(name: str, version: int = 1, **more: Any) -> Json:
    """Metadata of a namespaced object."""
    known = {"name": name, "namespace": "ns", "uid": f"{name}-uid", "resourceVersion": str(version)}
    return {**known, **more}


def a_claim(name: str = "c", version: int = 1, *, admin: bool = False, **status: Any) -> Json:
    """A claim for one device, with the finalizer, and with the given status."""
    exactly = {"deviceClassName": "gpu", **({"adminAccess": True} if admin else {})}
    return {
        "metadata": meta(name, version, finalizers=[FINALIZER]),
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        "status": status,
    }


def a_pod(name: str = "p", claims: Iterable[str] = ("c",), version: int = 1, **spec: Any) -> Json:
    """A gated pod with these claims, by name; 100m of CPU."""
    container = {"name": "main", "resources": {"requests": {"cpu": "100m"}}}
    wanted = [{"name": each, "resourceClaimName": each} for each in claims]
    body = {
        "containers": [container],
        "resourceClaims": wanted,
        "schedulingGates": [{"name": GATE}],
    }
    return {"metadata": meta(name, version), "spec": {**body, **spec}, "status": {}}


def a_node(name: str = "n1", version: int = 1, **allocatable: str) -> Json:
    """A node with 4 cores, 8 Gi, room for 10 pods, unless said otherwise."""
    known = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
    metadata = {"name": name, "uid": f"{name}-uid", "resourceVersion": str(version), "labels": {}}
    return {"metadata": metadata, "status": {"allocatable": known}}


def an_allocation(device: str = "d0", node: str = "n1") -> Json:
    """One device, on one node, as the API shows it."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {
        "devices": {"results": [{"request": "r", "driver": "drv", "pool": node, "device": device}]},
        "nodeSelector": {"nodeSelectorTerms": [term]},
    }


def user(pod: str) -> Json:
    """A pod's entry in `reservedFor`."""
    return {"resource": "pods", "name": pod, "uid": f"{pod}-uid"}


def allocated(
    pod: str = "p",
    claims: Iterable[str] = ("c",),
    shared: Iterable[str] = (),
    device: str = "d0",
    node: str = "n1",
) -> ClaimAllocated:
    """The allocator's decision for a pod."""
    allocation = msgspec.convert(an_allocation(device, node), AllocationResult)
    given = tuple(
        AllocatedClaim(claim=ref(each), allocation=allocation, costs=()) for each in claims
    )
    return ClaimAllocated(
        pod=ref(pod),
        node=node,
        claims=given,
        shared=tuple(ref(each) for each in shared),
        policy="test",
        time=AT,
    )


class World:
    """A mirror, the log it folds, and the work that is due; looked at as the service does."""

    def __init__(self) -> None:
        self.mirror = Mirror(FeaturesObserved(server_version="v1.37.2", features=()))
        self.records: list[Record] = []
        self._untold: set[Work] = set()
        self._unwritten: set[Work] = set()
        self._sent: set[Work] = set()

    def see(self, kind: Kind, *items: Json) -> "World":
        """The watch shows these objects as they are now."""
        for item in items:
            known: KubeObject = msgspec.convert(item, SHAPES[kind])
            self.look(self.mirror.take_change(Change(kind, address(known.metadata), known)))
            self.mirror.saw(kind, int(known.metadata.resource_version))
        return self

    def miss(self, kind: Kind, name: str, namespace: str = "ns") -> "World":
        """The watch shows that the object is gone."""
        self.look(self.mirror.take_change(Change(kind, Address(namespace, name), None)))
        return self

    def told(self, *facts: AnyFact) -> "World":
        """Others append facts to the log."""
        for fact in facts:
            self._append(Envelope(id=f"test/{len(self.records)}", actor="test", fact=fact))
        return self

    def facts(self) -> list[Any]:
        """The facts that the bridge appends until it has nothing more to say; they are read back."""
        found: list[Any] = []
        self._untold |= self.mirror.widened(self._sent)
        while self._untold:
            works, self._untold = self._untold, set()
            for event in new_facts(self.mirror, sorted(works), "bridge"):
                found.append(event.fact)
                self._append(event)
        return found

    def writes(self, now: float = 0) -> list[AnyWrite]:
        """The writes that the bridge sends now; they stay under way until they are ended."""
        return [each for each in self.steps(now) if not isinstance(each, Later)]

    def steps(self, now: float = 0) -> list[AnyWrite | Later]:
        """The same with what it wants to look at again later, which it then does."""
        works = self._unwritten | self.mirror.widened(self._sent)
        self._unwritten = set()
        found: list[AnyWrite | Later] = []
        for work in sorted(works):
            for step in next_writes(self.mirror, work, now):
                found.append(step)
                (self._unwritten if isinstance(step, Later) else self._sent).add(work)
        return found

    def look(self, works: Iterable[Work]) -> None:
        """There is something to look at."""
        known = tuple(works)
        self._untold.update(known)
        self._unwritten.update(known)

    def restarted(self) -> "World":
        """A new process that knows the log and lists the same objects."""
        other = World()
        other.mirror.observed = self.mirror.observed
        for record in self.records:
            other._append(record.envelope)
        other.look(other.mirror.everything())
        return other

    def _append(self, event: Envelope) -> None:
        record = Record(len(self.records) + 1, 0, subject(event.fact), event)
        self.records.append(record)
        self.look(self.mirror.take_record(record))
