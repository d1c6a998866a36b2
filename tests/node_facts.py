"""Allocations for tests of a node: what an allocator would have written, and what agents answered."""

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar

from facts import everything

from dra_shared.events.allocations import AllocationAdopted, ClaimReleased, ReleaseReason
from dra_shared.events.envelope import Envelope
from dra_shared.events.fact import Fact
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    OpaqueDeviceConfiguration,
)
from dra_shared.log.protocol import EventLog

GPU = "gpu.example.com"
NET = "net.example.com"

FactT = TypeVar("FactT", bound=Fact)


def a_result(
    device: str, request: str = "r", driver: str = GPU, **fields: Any
) -> DeviceRequestAllocationResult:
    """One device for one request, in the pool of `node-a` unless told otherwise."""
    pool = fields.pop("pool", "node-a")
    return DeviceRequestAllocationResult(
        request=request, driver=driver, pool=pool, device=device, **fields
    )


def a_config(
    parameters: dict[str, Any] | None,
    *requests: str,
    driver: str = GPU,
    source: str = "FromClaim",
) -> DeviceAllocationConfiguration:
    """Opaque configuration for some requests, or for all."""
    opaque = OpaqueDeviceConfiguration(driver=driver, parameters=parameters)
    return DeviceAllocationConfiguration(source=source, requests=requests or None, opaque=opaque)


def gpu_config(**sharing: Any) -> dict[str, Any]:
    """Parameters of a GpuConfig."""
    return {
        "apiVersion": "gpu.resource.example.com/v1alpha1",
        "kind": "GpuConfig",
        "sharing": sharing,
    }


def an_allocation(
    *results: DeviceRequestAllocationResult,
    config: Sequence[DeviceAllocationConfiguration] = (),
) -> AllocationResult:
    """What a claim was given."""
    return AllocationResult(
        devices=DeviceAllocationResult(results=results, config=tuple(config) or None)
    )


class Allocator:
    """Writes into the log what was decided for one node."""

    def __init__(self, log: EventLog, node: str = "node-a") -> None:
        self._log = log
        self._node = node
        self._written = 0

    async def allocate(
        self,
        claim: ObjectRef,
        *results: DeviceRequestAllocationResult | str,
        config: Sequence[DeviceAllocationConfiguration] = (),
    ) -> None:
        """Gives the claim these devices; GPUs may be told by name alone."""
        full = [a_result(r) if isinstance(r, str) else r for r in results]
        await self._write(
            AllocationAdopted(
                claim=claim,
                node=self._node,
                allocation=an_allocation(*full, config=config),
                costs=(),
            )
        )

    async def release(self, claim: ObjectRef) -> None:
        """Takes everything back from the claim."""
        reason = ReleaseReason.CLAIM_WITHDRAWN
        await self._write(ClaimReleased(claim=claim, node=self._node, reason=reason))

    async def _write(self, fact: AllocationAdopted | ClaimReleased) -> None:
        self._written += 1
        event = Envelope(id=f"allocator:{self._written}", actor="allocator", fact=fact)
        await self._log.commit([event])


async def told(log: EventLog, kind: type[FactT]) -> list[FactT]:
    """All facts of a kind in the log now."""
    facts = [record.envelope.fact for record in await everything(log)]
    return [fact for fact in facts if isinstance(fact, kind)]


async def both(first: Any, second: Any) -> tuple[Any, Any]:
    """What two calls made at the same time return."""
    one, two = await asyncio.gather(first, second)
    return one, two
