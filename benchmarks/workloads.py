"""What the allocator benchmarks are about: clusters, claims, and who holds what already.

One description for both sides: ours is told of it as facts, the peer reads it as Kubernetes'
objects (`as_objects`). All chance comes from one fixed seed. Nothing here measures.

A slot is where one claim of the workload's kind fits; a fill of 50 % is half of all slots held by
such claims. `round-robin` fills the first slot of every node, then the second; `random` any.
"""

import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec
from kinds import CLASS, DEVICES, DRIVER, KINDS, SHARE, Kind, selector

from dra_shared.events.allocations import AllocatedClaim, ClaimAllocated, Cost
from dra_shared.events.claims import ClaimRequested, PodRequested
from dra_shared.events.cluster import ClassObserved, NodeObserved
from dra_shared.events.envelope import AnyFact
from dra_shared.events.fact import Placement
from dra_shared.events.pools import PoolPublished
from dra_shared.ids import DeviceId, ObjectRef
from dra_shared.kube import claims as kube
from dra_shared.kube.devices import Device, ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_shared.kube.meta import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta

SEED: Final = 20261130
Order = Literal["round-robin", "random"]


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster of `nodes` nodes with eight devices each, `fill` per cent of its slots held."""

    kind: str
    nodes: int
    fill: int = 0
    order: Order = "round-robin"


class Held(msgspec.Struct, frozen=True):
    """A claim that holds devices of a node."""

    name: str
    node: str
    results: tuple[kube.DeviceRequestAllocationResult, ...]
    costs: tuple[Cost, ...]


def node_name(number: int) -> str:
    """Sorts as numbers do."""
    return f"node-{number:05}"


def ref(name: str) -> ObjectRef:
    """A claim or pod of the one namespace there is."""
    return ObjectRef("bench", name, str(uuid.uuid5(uuid.NAMESPACE_OID, name)))


def slices(kind: Kind, node: str) -> tuple[ResourceSliceSpec, ...]:
    """The slices of a node's pool; counters stand in one of their own, as the API wants it."""
    devices = tuple(kind.device(node, number) for number in range(DEVICES))
    parts = [{"shared_counters": kind.counters}] if kind.counters else []
    parts.append({"devices": devices})
    pool = ResourcePool(name=node, generation=1, resource_slice_count=len(parts))
    return tuple(
        ResourceSliceSpec(driver=DRIVER, pool=pool, node_name=node, **part) for part in parts
    )


def held(workload: Workload) -> Iterator[Held]:
    """The claims that hold something already, in the order in which they came."""
    kind = KINDS[workload.kind]
    places = [(node, slot) for slot in range(len(kind.slots)) for node in range(workload.nodes)]
    if workload.order == "random":
        random.Random(SEED).shuffle(places)
    for number, (node, slot) in enumerate(places[: len(places) * workload.fill // 100]):
        yield _holding(kind, f"held-{number}", node_name(node), kind.slots[slot])


def device_class() -> kube.DeviceClass:
    """All devices of the driver."""
    every = selector(f'device.driver == "{DRIVER}"')
    return kube.DeviceClass(
        metadata=ObjectMeta(name=CLASS), spec=kube.DeviceClassSpec(selectors=(every,))
    )


def cluster_facts(workload: Workload) -> Iterator[AnyFact]:
    """The cluster as our side is told of it, without its claims."""
    kind = KINDS[workload.kind]
    yield ClassObserved(device_class=device_class())
    for number in range(workload.nodes):
        name = node_name(number)
        yield NodeObserved(
            name=name,
            uid=ref(name).uid,
            cpu_milli=128_000,
            memory_bytes=2**40,
            pods=1000,
            labels={},
        )
        specs = slices(kind, name)
        yield PoolPublished(driver=DRIVER, pool=name, node=name, generation=1, slices=specs)


def demand_facts(kind: str, name: str) -> tuple[ClaimRequested, PodRequested]:
    """A claim of that kind and the pod that waits for it."""
    claim = ref(f"{name}-claim")
    return (
        ClaimRequested(claim=claim, spec=KINDS[kind].claim),
        PodRequested(pod=ref(name), claims=(claim,), placement=Placement()),
    )


def held_facts(workload: Workload) -> Iterator[AnyFact]:
    """The claims that hold something, from their request to their allocation."""
    for one in held(workload):
        claim, pod = demand_facts(workload.kind, one.name)
        yield claim
        yield pod
        allocation = kube.AllocationResult(
            devices=kube.DeviceAllocationResult(results=one.results),
            node_selector=_only(one.node),
            allocation_timestamp="2026-01-01T00:00:00Z",
        )
        got = AllocatedClaim(claim=claim.claim, allocation=allocation, costs=one.costs)
        yield ClaimAllocated(
            pod=pod.pod,
            node=one.node,
            claims=(got,),
            policy="pack",
            time="2026-01-01T00:00:00Z",
        )


def as_objects(workload: Workload, path: Path) -> None:
    """Writes the same cluster and the same claims for the peer."""
    kind = KINDS[workload.kind]
    nodes = [node_name(number) for number in range(workload.nodes)]
    objects = [
        ResourceSlice(metadata=ObjectMeta(name=f"{node}-{part}"), spec=spec)
        for node in nodes
        for part, spec in enumerate(slices(kind, node))
    ]
    whole = {
        "class": device_class(),
        "claim": kind.claim,
        "slices": objects,
        "nodes": nodes,
        "held": [one.results for one in held(workload)],
    }
    path.write_bytes(msgspec.json.encode(whole))


def _holding(kind: Kind, name: str, node: str, slot: tuple[int, ...]) -> Held:
    pairs = [_result(kind.device(node, place), node, name) for place in slot]
    return Held(name, node, tuple(one for one, _ in pairs), tuple(cost for _, cost in pairs))


def _result(
    device: Device, node: str, claim: str
) -> tuple[kube.DeviceRequestAllocationResult, Cost]:
    shared = bool(device.allow_multiple_allocations)
    share = ref(f"{claim}-share").uid if shared else None
    result = kube.DeviceRequestAllocationResult(
        request="r",
        driver=DRIVER,
        pool=node,
        device=device.name,
        share_id=share,
        consumed_capacity={"memory": SHARE} if shared else None,
    )
    cost = Cost(
        device=DeviceId(DRIVER, node, device.name),
        share_id=share,
        capacity={"memory": SHARE} if shared else {},
        counters={
            one.counter_set: {name: counter.value for name, counter in one.counters.items()}
            for one in device.consumes_counters or ()
        },
    )
    return result, cost


def _only(node: str) -> NodeSelector:
    name = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(name,)),))
