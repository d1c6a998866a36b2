"""A bridge on the real control plane with a log in memory, and a stand-in for the allocator.

The stand-in gives each pod the next free device of the nodes it was told of, and nothing more.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from types import MappingProxyType
from typing import Any, TypeVar

from dra_api_bridge.edge.api import connected
from dra_api_bridge.service import Bridge
from dra_shared.events.allocations import AllocatedClaim, ClaimAllocated, Cost
from dra_shared.events.claims import PodRequested
from dra_shared.events.envelope import Envelope
from dra_shared.events.fact import Fact
from dra_shared.ids import DeviceId, ObjectRef
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from dra_shared.kube.meta import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_shared.log.memory import MemoryLog
from dra_shared.log.protocol import EventLog, Record
from dra_shared.runtime.endpoint import Readiness
from e2e.controlplane import ControlPlane, Identity, eventually
from e2e.controlplane.objects import DRIVER, a_claim_template, a_pod, from_template

RESOURCE = "/apis/resource.k8s.io/v1"
EMPTY: Mapping[str, str] = MappingProxyType({})
AT = "2026-11-30T12:00:00Z"
FactT = TypeVar("FactT", bound=Fact)


class Ledger:
    """A log with the words that tests need; in memory if none is given."""

    def __init__(self, log: EventLog | None = None) -> None:
        self.log = log or MemoryLog()

    async def records(self) -> list[Record]:
        last = await self.log.last_sequence()
        return [record async for batch in self.log.read(until=last) for record in batch]

    async def facts(self, kind: type[FactT], about: str = "") -> list[FactT]:
        return [
            record.envelope.fact
            for record in await self.records()
            if isinstance(record.envelope.fact, kind) and about in record.envelope.correlation
        ]

    async def first(self, kind: type[FactT], about: str, **fields: object) -> FactT:
        async def found() -> FactT | None:
            for fact in await self.facts(kind, about):
                if all(getattr(fact, name) == value for name, value in fields.items()):
                    return fact
            return None

        return await eventually(f"{kind.__name__} of {about} in the log", found)

    async def append(self, fact: Any, identity: str) -> int:
        event = Envelope(id=identity, actor="test", fact=fact)
        return (await self.log.commit([event]))[0]

    async def allocate(
        self, pod: PodRequested, node: str, device: str, claims: Sequence[ObjectRef] | None = None
    ) -> int:
        given = tuple(
            AllocatedClaim(
                claim=claim, allocation=an_allocation(node, device), costs=a_cost(node, device)
            )
            for claim in (pod.claims if claims is None else claims)
        )
        fact = ClaimAllocated(pod=pod.pod, node=node, claims=given, policy="test", time=AT)
        last = await self.log.last_sequence()
        return await self.append(fact, f"allocate/{pod.pod.uid}/{last}")


def an_allocation(node: str, device: str) -> AllocationResult:
    result = DeviceRequestAllocationResult(request="gpu", driver=DRIVER, pool=node, device=device)
    name = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node,))
    return AllocationResult(
        devices=DeviceAllocationResult(results=(result,)),
        node_selector=NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(name,)),)),
    )


def a_cost(node: str, device: str) -> tuple[Cost, ...]:
    return (Cost(device=DeviceId(driver=DRIVER, pool=node, device=device)),)


@asynccontextmanager
async def bridging(
    plane: ControlPlane, ledger: Ledger, identity: Identity = Identity.BRIDGE
) -> AsyncIterator[None]:
    """A bridge at work, as its own identity unless told otherwise; ended on leaving."""
    async with connected(str(plane.kubeconfig(identity))) as api:
        epoch = await ledger.log.open_epoch("api-bridge", "test")
        ready = Readiness()
        running = asyncio.create_task(Bridge(ledger.log, epoch, ready).run(api))

        async def is_ready() -> bool:
            if running.done():
                running.result()
            return not ready.lacks

        try:
            await eventually("the bridge is ready", is_ready)
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def claims(namespace: str) -> str:
    return f"{RESOURCE}/namespaces/{namespace}/resourceclaims"


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


async def a_gated_pod(
    plane: ControlPlane,
    namespace: str,
    limits: Mapping[str, str] = EMPTY,
    node_selector: Mapping[str, str] = EMPTY,
) -> str:
    """The uid of a new pod `p` with one claim of its own, made from a template."""
    template = f"{RESOURCE}/namespaces/{namespace}/resourceclaimtemplates"
    await plane.api("POST", template, a_claim_template("t"))
    pod: Any = a_pod("p", [from_template("gpu", "t")], nodeSelector=dict(node_selector))
    pod["spec"]["containers"][0]["resources"]["limits"] = dict(limits)
    made = await plane.api("POST", pods(namespace), pod, Identity.TENANT)
    return str(made["metadata"]["uid"])


def bound(plane: ControlPlane, path: str) -> Callable[[], Awaitable[str | None]]:
    async def probe() -> str | None:
        node: str | None = (await plane.api("GET", path))["spec"].get("nodeName")
        return node

    return probe


@asynccontextmanager
async def a_bridged_log(plane: ControlPlane) -> AsyncIterator[Ledger]:
    """A new log in memory that a bridge works on."""
    ledger = Ledger()
    async with bridging(plane, ledger):
        yield ledger
