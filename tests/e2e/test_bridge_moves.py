"""Pods that cannot run where they were placed: what they hold is taken back and they go elsewhere."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from dra_shared.events.claims import PodRequested
from dra_shared.events.mirror import AllocationCleared, ClearedBy
from e2e.bridging import Ledger, a_bridged_log, a_gated_pod, bound, pods
from e2e.controlplane import ControlPlane, eventually
from e2e.controlplane.objects import a_pod

RESOURCE = "/apis/resource.k8s.io/v1"


@pytest_asyncio.fixture(loop_scope="session")
async def ledger(control_plane: ControlPlane) -> AsyncIterator[Ledger]:
    async with a_bridged_log(control_plane) as ledger:
        yield ledger


DONGLE = "example.com/dongle"


async def offer(plane: ControlPlane, node: str, resource: str) -> None:
    """The node has one of the resource, which the bridge's own check of nodes does not look at."""
    patch = {"status": {"capacity": {resource: "1"}, "allocatable": {resource: "1"}}}
    await plane.api("PATCH", f"/api/v1/nodes/{node}/status", patch)


async def fill(plane: ControlPlane, namespace: str, node: str, cpu: str) -> None:
    """Other people's pod takes most of the node."""
    pod = a_pod("filler", nodeName=node)
    pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu}
    await plane.api("POST", pods(namespace), pod)


async def test_a_full_node_is_noticed_before_the_pod_is_ungated(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, namespace_numbers: Any
) -> None:
    full, free = (f"m-{next(namespace_numbers)}" for _ in range(2))
    await control_plane.add_node(full, cpu="1")
    await control_plane.add_node(free, cpu="1")
    await fill(control_plane, namespace, full, "950m")
    uid = await a_gated_pod(control_plane, namespace)
    demand = await ledger.first(PodRequested, uid)
    (claim,) = demand.claims
    await ledger.allocate(demand, full, "gpu-0")
    cleared = await ledger.first(AllocationCleared, claim.uid)
    assert (cleared.by, cleared.unfit_node) == (ClearedBy.BRIDGE, full)
    await ledger.allocate(demand, free, "gpu-0")
    path = f"{pods(namespace)}/p"
    assert await eventually("the pod is bound", bound(control_plane, path)) == free


async def test_a_pod_that_the_scheduler_cannot_place_moves_to_another_node(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, namespace_numbers: Any
) -> None:
    poor, rich = (f"m-{next(namespace_numbers)}" for _ in range(2))
    await control_plane.add_node(poor)
    await control_plane.add_node(rich)
    await offer(control_plane, rich, DONGLE)
    uid = await a_gated_pod(control_plane, namespace, {DONGLE: "1"})
    demand = await ledger.first(PodRequested, uid)
    (claim,) = demand.claims
    await ledger.allocate(demand, poor, "gpu-0")
    cleared = await ledger.first(AllocationCleared, claim.uid)
    assert cleared.unfit_node == poor
    await ledger.allocate(demand, rich, "gpu-0")
    path = f"{pods(namespace)}/p"
    assert await eventually("the pod is bound", bound(control_plane, path)) == rich


async def test_what_a_pod_cannot_use_is_taken_back_though_the_scheduler_leaves_it(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, namespace_numbers: Any
) -> None:
    poor, rich = (f"m-{next(namespace_numbers)}" for _ in range(2))
    await control_plane.add_node(poor, labels={"island": poor})
    uid = await a_gated_pod(control_plane, namespace, {DONGLE: "1"}, {"island": poor})
    demand = await ledger.first(PodRequested, uid)
    assert demand.placement.node_selector == {"island": poor}
    (claim,) = demand.claims
    await ledger.allocate(demand, poor, "gpu-0")
    cleared = await ledger.first(AllocationCleared, claim.uid)
    assert (cleared.by, cleared.unfit_node) == (ClearedBy.BRIDGE, poor)
    assert DONGLE in cleared.message
    await control_plane.add_node(rich, labels={"island": poor})
    await offer(control_plane, rich, DONGLE)
    await ledger.allocate(demand, rich, "gpu-0")
    path = f"{pods(namespace)}/p"
    assert await eventually("the pod is bound", bound(control_plane, path)) == rich
    assert len(await ledger.facts(AllocationCleared, claim.uid)) == 1
