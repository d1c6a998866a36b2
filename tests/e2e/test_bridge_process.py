"""The bridge as processes around a real NATS: one writes, the other takes over when it is killed."""

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from processes import a_part
from servers import NatsServer

from dra_shared.events.claims import PodRequested
from dra_shared.events.cluster import FeaturesObserved
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect
from e2e.bridging import Ledger, a_gated_pod, bound, pods
from e2e.controlplane import ControlPlane, Identity, eventually


def a_bridge(
    plane: ControlPlane, nats: NatsServer, name: str
) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
    kubeconfig = str(plane.kubeconfig(Identity.BRIDGE))
    return a_part("dra_api_bridge", nats, name, KUBECONFIG=kubeconfig)


async def a_ledger(nats: NatsServer) -> Ledger:
    log = JetStreamLog(await connect(nats.url, "test", patience=10))
    await log.ensure_stream()
    return Ledger(log)


async def test_a_second_bridge_goes_on_where_the_first_was_killed(
    control_plane: ControlPlane, namespace: str, namespace_numbers: Any, nats_server: NatsServer
) -> None:
    node = f"process-node-{next(namespace_numbers)}"
    await control_plane.add_node(node)
    ledger = await a_ledger(nats_server)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(ledger.log.close)
        first = await stack.enter_async_context(a_bridge(control_plane, nats_server, "first"))
        uid = await a_gated_pod(control_plane, namespace)
        demand = await ledger.first(PodRequested, uid)
        await stack.enter_async_context(a_bridge(control_plane, nats_server, "second"))
        first.kill()
        await ledger.allocate(demand, node, "gpu-0")
        path = f"{pods(namespace)}/p"
        assert await eventually("the pod is bound", bound(control_plane, path)) == node
        assert len(await ledger.facts(PodRequested, uid)) == 1


async def test_a_bridge_told_to_end_ends_in_good_order(
    control_plane: ControlPlane, nats_server: NatsServer
) -> None:
    ledger = await a_ledger(nats_server)
    async with a_bridge(control_plane, nats_server, "only") as running:
        await ledger.first(FeaturesObserved, "")
        running.terminate()
        assert await asyncio.wait_for(running.wait(), 10) == 0
    await ledger.log.close()
