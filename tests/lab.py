"""A cluster told in manifests, as `dra allocate` reads them: for tests that state a user's case.

What is built here are plain Kubernetes objects. They pass the same way as files do: checked as the
API server would, told to the log by the bridge's core, decided by the allocator's engine.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from dra_allocator.core.engine import Engine
from dra_allocator.core.replay import new_state
from dra_cli.core.completion import complete
from dra_cli.core.manifests import Document, read
from dra_cli.core.rehearsal import NEWEST, Rehearsal
from dra_shared.events.allocations import (
    AllocatedClaim,
    AllocationAdopted,
    AllocationFact,
    ClaimAllocated,
    ClaimUnsatisfiable,
    ReasonKind,
)
from dra_shared.kube.claims import DeviceRequestAllocationResult

DRIVER = "dev.lab.example"
Object = dict[str, Any]
Part = str | Object


def an_object(kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    core = kind in ("Pod", "Node", "Namespace")
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    version = "v1" if core else "resource.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def a_slice(
    node: str,
    devices: Iterable[Part] | None = None,
    *,
    pool: str = "",
    part: tuple[int, int] = (1, 1),
    generation: int = 1,
    **spec: Any,
) -> Object:
    """A slice of a pool of the node, or of the cluster if the spec says where instead.

    `part`: which of how many slices of the pool.
    """
    name, driver = pool or node, spec.pop("driver", DRIVER)
    where = {"nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection"}
    placed = {} if where & spec.keys() else {"nodeName": node}
    parts = {} if devices is None else {"devices": [_device(each) for each in devices]}
    about = {"name": name, "generation": generation, "resourceSliceCount": part[1]}
    whole = {"driver": driver, "pool": about, **placed, **parts, **spec}
    return an_object("ResourceSlice", f"{name}-{driver}-{part[0]}", spec=whole)


def a_device(name: str, **fields: Any) -> Object:
    """`attributes` and `capacity` as plain values."""
    attributes = {key: _attribute(value) for key, value in fields.pop("attributes", {}).items()}
    capacity = {key: _capacity(value) for key, value in fields.pop("capacity", {}).items()}
    extras = {"attributes": attributes, "capacity": capacity}
    return {"name": name, **{key: value for key, value in extras.items() if value}, **fields}


def a_pool_of_parts(
    node: str, counter_set: str, amount: Any, *parts: Object, **spec: Any
) -> tuple[Object, Object]:
    """A pool with one counter set of one counter of the same name: two slices (KEP-4815)."""
    shared = [{"name": counter_set, "counters": {counter_set: {"value": str(amount)}}}]
    return (
        a_slice(node, part=(1, 2), sharedCounters=shared, **spec),
        a_slice(node, parts, part=(2, 2), **spec),
    )


def a_part(name: str, counter_set: str, taking: Any, **fields: Any) -> Object:
    """A device that takes so much of the counter of the set that has the set's name."""
    counters = {counter_set: {"value": str(taking)}}
    uses = [{"counterSet": counter_set, "counters": counters}]
    return a_device(name, consumesCounters=uses, **fields)


def a_class(name: str = "any", select: str = f'device.driver == "{DRIVER}"') -> Object:
    return an_object("DeviceClass", name, spec={"selectors": [{"cel": {"expression": select}}]})


def wanted(count: int = 1, *, of: str = "any", select: str = "", **fields: Any) -> Object:
    """So many devices of a class."""
    chosen = {"selectors": [{"cel": {"expression": select}}]} if select else {}
    number = {} if fields.get("allocationMode") == "All" else {"count": count}
    return {"deviceClassName": of, **number, **chosen, **fields}


def everything(of: str = "any", **fields: Any) -> Object:
    """All devices of a class."""
    return wanted(of=of, allocationMode="All", **fields)


def a_request(name: str = "r", count: int = 1, **fields: Any) -> Object:
    return {"name": name, "exactly": wanted(count, **fields)}


def first_of(name: str = "r", **alternatives: Object) -> Object:
    """A request with alternatives; `_` stands for `-` in their names."""
    subs = [{"name": key.replace("_", "-"), **one} for key, one in alternatives.items()]
    return {"name": name, "firstAvailable": subs}


def a_claim(
    name: str, *requests: Object, match: str = "", namespace: str = "ns1", **devices: Any
) -> Object:
    """A claim of one device, or of what the requests say; `match`: they agree in an attribute."""
    agreeing = {"constraints": [{"matchAttribute": match}]} if match else {}
    whole = {"requests": list(requests) or [a_request()], **agreeing, **devices}
    return an_object("ResourceClaim", name, namespace, spec={"devices": whole})


def a_pod(name: str, *claims: str, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    refs = [{"name": claim, "resourceClaimName": claim} for claim in claims]
    pod = an_object("Pod", name, "ns1", spec={"resourceClaims": refs, **spec})
    if labels:
        pod["metadata"]["labels"] = labels
    return pod


def a_node(name: str, **fields: Any) -> Object:
    return an_object("Node", name, **fields)


def _device(part: Part) -> Object:
    return {"name": part} if isinstance(part, str) else part


def _attribute(value: Any) -> Object:
    kinds = {bool: "bool", int: "int", str: "string"}
    if isinstance(value, list):
        return {f"{kinds[type(value[0])]}s": value}
    return {kinds[type(value)]: value}


def _capacity(value: Any) -> Object:
    return value if isinstance(value, dict) else {"value": str(value)}


class Lab:
    """A cluster of manifests that change, and what the allocator made of them so far."""

    def __init__(self, *objects: Object, policy: str = "pack") -> None:
        self.rehearsal = Rehearsal(NEWEST, policy)
        self._objects: dict[tuple[str, str, str], Object] = {}
        self._shown: dict[tuple[str, str], Any] = {}
        self._answers: dict[str, AllocatedClaim | AllocationAdopted | ClaimUnsatisfiable] = {}
        self.nodes: dict[str, str] = {}
        self.apply(*objects)

    def apply(self, *objects: Object) -> None:
        """As `kubectl apply` does."""
        self._objects |= {_key(one): one for one in objects}
        self._sync()

    def delete(self, *objects: Object) -> None:
        for one in objects:
            del self._objects[_key(one)]
        self._sync()

    def allocate(self, *objects: Object) -> Sequence[AllocationFact]:
        """Applies the objects, and lets the allocator say all that it has to say."""
        self.apply(*objects)
        said = self.rehearsal.decide()
        for fact in said:
            self._note(fact)
        return said

    def restart(self) -> None:
        """A new allocator, which knows nothing but the log."""
        state = new_state()
        state.fold(self.rehearsal.records)
        self.rehearsal.engine = Engine(state, self.rehearsal.policy)
        self.rehearsal.engine.begin()

    def results(self, claim: str) -> list[DeviceRequestAllocationResult]:
        """What the claim has now."""
        got = self._answers[claim]
        assert not isinstance(got, ClaimUnsatisfiable), got.summary
        return list(got.allocation.devices.results or ())

    def devices(self, claim: str) -> list[str]:
        """The names of the devices that the claim has now."""
        return [result.device for result in self.results(claim)]

    def refusal(self, claim: str) -> ClaimUnsatisfiable:
        """The no to the pod that the claim is for."""
        got = self._answers[claim]
        assert isinstance(got, ClaimUnsatisfiable), got
        return got

    def reasons(self, claim: str) -> dict[tuple[ReasonKind, str], int]:
        """How many devices the claim could not have, by reason and detail."""
        return {(one.kind, one.detail): one.devices for one in self.refusal(claim).reasons}

    def kinds(self, claim: str) -> dict[ReasonKind, int]:
        """How many devices the claim could not have, by kind of reason."""
        found: dict[ReasonKind, int] = {}
        for (kind, _), devices in self.reasons(claim).items():
            found[kind] = found.get(kind, 0) + devices
        return found

    def _sync(self) -> None:
        documents = [Document("lab", n, one) for n, one in enumerate(self._objects.values(), 1)]
        objects = complete(one.object for one in read(documents).manifests)
        now = {(type(one).__name__, one.metadata.uid): one for one in objects}
        gone = [one for key, one in self._shown.items() if key not in now]
        new = [one for key, one in now.items() if self._shown.get(key) != one]
        self._shown = now
        self.rehearsal.remove(*gone)
        self.rehearsal.show(*new)

    def _note(self, fact: AllocationFact) -> None:
        match fact:
            case ClaimAllocated():
                self.nodes[fact.pod.name] = fact.node
                self._answers |= {one.claim.name: one for one in fact.claims}
            case ClaimUnsatisfiable():
                self._answers |= {ref.name: fact for ref in fact.claims}
            case AllocationAdopted():
                self._answers[fact.claim.name] = fact
            case _:
                self._answers.pop(fact.claim.name, None)


def _key(one: Object) -> tuple[str, str, str]:
    metadata = one["metadata"]
    return one["kind"], metadata.get("namespace", ""), metadata["name"]
