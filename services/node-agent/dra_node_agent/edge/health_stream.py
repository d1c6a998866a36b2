"""The stream in which the kubelet hears how a driver's devices are; it shows that on pods.

It moves nobody: what keeps new claims off a sick device are the facts in the log.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from dra_node_agent.core.inventory import FoundDevice, Inventory
from dra_node_agent.edge.plugin import Plugin
from dra_shared.events.nodes import Severity
from dra_shared.kubelet_api import health_v1alpha1_pb2 as pb2
from dra_shared.kubelet_api import health_v1alpha1_pb2_grpc as pb2_grpc

VERSION: Final = "v1alpha1.DRAResourceHealth"

LOOK: Final = 0.5
"""Seconds between looks at what the agent knows."""

RESEND: Final = 10.0
LEASE: Final = 30
"""Seconds after which the kubelet forgets what it was not told again."""

MESSAGE: Final = 1024


class HealthStream(pb2_grpc.DRAResourceHealthServicer):
    """DRAResourceHealth v1alpha1 of one driver. Its pool is named after the node."""

    def __init__(self, plugin: Plugin, node: str) -> None:
        self._plugin = plugin
        self._node = node

    async def NodeWatchResources(  # noqa: N802 - gRPC's name
        self,
        request: pb2.NodeWatchResourcesRequest,  # noqa: ARG002 - empty
        context: grpc.aio.ServicerContext[Any, Any],  # noqa: ARG002 - gRPC's shape
    ) -> AsyncIterator[pb2.NodeWatchResourcesResponse]:
        """All devices at once, again when one changes, and again before the kubelet forgets."""
        told: Inventory | None = None
        since = 0.0
        while True:
            inventory = await self._plugin.inventory()
            if inventory != told or time.monotonic() - since >= RESEND:
                told, since = inventory, time.monotonic()
                yield self._all(inventory, int(time.time()))
            await asyncio.sleep(LOOK)

    def _all(self, inventory: Inventory, now: int) -> pb2.NodeWatchResourcesResponse:
        return pb2.NodeWatchResourcesResponse(
            devices=[self._one(found, now) for found in inventory.devices]
        )

    def _one(self, found: FoundDevice, now: int) -> pb2.DeviceHealth:
        faults = [fault for fault in found.faults if fault.severity is not Severity.NOTE]
        return pb2.DeviceHealth(
            device=pb2.DeviceIdentifier(pool_name=self._node, device_name=found.device.name),
            health=pb2.UNHEALTHY if faults else pb2.HEALTHY,
            last_updated_time=now,
            health_check_timeout_seconds=LEASE,
            message="; ".join(f"{fault.cause}: {fault.message}" for fault in faults)[:MESSAGE],
        )
