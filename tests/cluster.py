"""Builders for tests of the allocator: a cluster told as facts, with defaults that fit together."""

from collections.abc import Iterable, Sequence
from typing import Any

from dra_allocator.core.engine import Engine
from dra_allocator.core.replay import new_state
from dra_allocator.core.state import ClusterState
from dra_shared.events.allocations import AllocationFact, ClaimAllocated, ClaimUnsatisfiable
from dra_shared.events.claims import (
    ClaimRequested,
    ClaimWithdrawn,
    PodGroupRef,
    PodRequested,
    PodWithdrawn,
)
from dra_shared.events.cluster import ClassObserved, NodeObserved
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.fact import Placement
from dra_shared.events.pools import PoolPublished
from dra_shared.events.subjects import subject
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import (
    CELDeviceSelector,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_shared.kube.devices import Device, ResourcePool, ResourceSliceSpec
from dra_shared.kube.meta import ObjectMeta
from dra_shared.log.protocol import Record

DRIVER = "dev.lab.example"
SECOND = 1_000_000_000


def ref(name: str) -> ObjectRef:
    """A claim or pod of the namespace `ns`; its uid tells its name."""
    return ObjectRef("ns", name, f"{name}-uid")


def a_device(name: str, **fields: Any) -> Device:
    """A device that is nothing but there."""
    return Device(name=name, **fields)


def a_pool(
    node: str, devices: Iterable[str | Device], *, generation: int = 1, driver: str = DRIVER
) -> PoolPublished:
    """A node's own pool, named after it, in one slice."""
    parts = tuple(a_device(d) if isinstance(d, str) else d for d in devices)
    spec = ResourceSliceSpec(
        driver=driver,
        pool=ResourcePool(name=node, generation=generation, resource_slice_count=1),
        node_name=node,
        devices=parts,
    )
    return PoolPublished(driver=driver, pool=node, node=node, generation=generation, slices=(spec,))


def a_node(name: str, **fields: Any) -> NodeObserved:
    """A node with room for ten pods."""
    room: dict[str, Any] = {"cpu_milli": 8000, "memory_bytes": 2**33, "pods": 10, "labels": {}}
    return NodeObserved(name=name, uid=f"{name}-uid", **{**room, **fields})


def a_class(name: str = "any", *expressions: str) -> ClassObserved:
    """A class of all devices that the expressions select; without one, of the driver's."""
    texts = expressions or (f'device.driver == "{DRIVER}"',)
    selectors = tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in texts)
    return ClassObserved(
        device_class=DeviceClass(
            metadata=ObjectMeta(name=name), spec=DeviceClassSpec(selectors=selectors)
        )
    )


def a_request(name: str = "r", count: int = 1, *expressions: str, **fields: Any) -> DeviceRequest:
    """So many devices of the class `any` that the expressions select."""
    selectors = tuple(
        DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in expressions
    )
    given: dict[str, Any] = {"device_class_name": "any", "selectors": selectors or None}
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(count=count, **{**given, **fields}))


def a_claim(
    name: str, *requests: DeviceRequest, match: str = "", admin_namespace: bool = False
) -> ClaimRequested:
    """A claim of one device, or of what the requests say."""
    constraints = (DeviceConstraint(match_attribute=match),) if match else None
    devices = DeviceClaim(requests=requests or (a_request(),), constraints=constraints)
    return ClaimRequested(
        claim=ref(name), spec=ResourceClaimSpec(devices=devices), admin_namespace=admin_namespace
    )


def a_pod(
    name: str,
    *claims: str,
    priority: int = 0,
    group: PodGroupRef | None = None,
    **placement: Any,
) -> PodRequested:
    """A pod that uses these claims."""
    return PodRequested(
        pod=ref(name),
        claims=tuple(ref(claim) for claim in claims),
        placement=Placement(**placement),
        priority=priority,
        group=group,
    )


class Story:
    """A log that is told fact by fact, and an allocator that reads along."""

    def __init__(self, policy: str = "pack") -> None:
        self.policy = policy
        self.records: list[Record] = []
        self.unsent: list[Envelope] = []
        self.engine = Engine(new_state(), policy)

    @property
    def state(self) -> ClusterState:
        """What the allocator knows."""
        return self.engine.state

    def tell(self, *facts: AnyFact) -> "Story":
        """Facts of others happen, one second after the other."""
        for fact in facts:
            number = len(self.records) + 1
            self.append(Envelope(id=f"test:{number}", actor="test", fact=fact))
        return self

    def decide(self) -> list[AllocationFact]:
        """All that the allocator has to say now; it stands in the log afterwards."""
        said = self.speak()
        self.send()
        return said

    def speak(self) -> list[AllocationFact]:
        """All that the allocator has to say now; it is still on its way to the log."""
        said: list[AllocationFact] = []
        while (envelope := self.engine.next(epoch=1)) is not None:
            self.unsent.append(envelope)
            assert isinstance(envelope.fact, AllocationFact)
            said.append(envelope.fact)
        return said

    def send(self) -> None:
        """What the allocator said reaches the log."""
        while self.unsent:
            self.append(self.unsent.pop(0))

    def append(self, envelope: Envelope) -> None:
        """The next event of the log."""
        self.records.append(a_record(envelope, len(self.records) + 1))
        self.engine.take(self.records[-1])


def a_record(envelope: Envelope, sequence: int) -> Record:
    """The event at this place; each comes a second after the one before."""
    return Record(sequence, sequence * SECOND, subject(envelope.fact), envelope)


def placed(facts: Sequence[AllocationFact]) -> dict[str, str]:
    """Where pods were placed, by name."""
    return {fact.pod.name: fact.node for fact in facts if isinstance(fact, ClaimAllocated)}


def given(facts: Sequence[AllocationFact]) -> dict[str, list[str]]:
    """The devices that claims were given, by the claim's name."""
    return {
        got.claim.name: [cost.device.device for cost in got.costs]
        for fact in facts
        if isinstance(fact, ClaimAllocated)
        for got in fact.claims
    }


def refused(facts: Sequence[AllocationFact]) -> dict[str, ClaimUnsatisfiable]:
    """Refusals, by the pod's name."""
    return {fact.pod.name: fact for fact in facts if isinstance(fact, ClaimUnsatisfiable)}


def gone(name: str) -> ClaimWithdrawn:
    """A claim is deleted."""
    return ClaimWithdrawn(claim=ref(name))


def ended(name: str) -> PodWithdrawn:
    """A pod is gone."""
    return PodWithdrawn(pod=ref(name))
