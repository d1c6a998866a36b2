"""The way of a claim through the bridge, on a real control plane."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from dra_api_bridge.edge.writer import WRITES
from dra_shared.events.allocations import ClaimUnsatisfiable, Refusal
from dra_shared.events.claims import ClaimRequested, ClaimWithdrawn, PodRequested, PodWithdrawn
from dra_shared.events.mirror import AllocationWritten, PodUngated
from e2e.bridging import Ledger, a_bridged_log, a_gated_pod, bound, claims, pods
from e2e.controlplane import ControlPlane, eventually


@pytest_asyncio.fixture(loop_scope="session")
async def ledger(control_plane: ControlPlane) -> AsyncIterator[Ledger]:
    async with a_bridged_log(control_plane) as ledger:
        yield ledger


@pytest_asyncio.fixture(loop_scope="session")
async def node(control_plane: ControlPlane, namespace_numbers: Any) -> str:
    name = f"bridge-node-{next(namespace_numbers)}"
    await control_plane.add_node(name)
    return name


async def test_a_decided_pod_is_written_ungated_bound_and_forgotten(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, node: str
) -> None:
    uid = await a_gated_pod(control_plane, namespace)
    demand = await ledger.first(PodRequested, uid)
    (claim,) = demand.claims
    assert (await ledger.first(ClaimRequested, claim.uid)).claim == claim
    await ledger.allocate(demand, node, "gpu-0")
    path = f"{pods(namespace)}/p"
    assert await eventually("the pod is bound", bound(control_plane, path)) == node
    assert (await ledger.first(AllocationWritten, claim.uid)).node == node
    assert (await ledger.first(PodUngated, uid)).node == node
    shown = await control_plane.api("GET", f"{claims(namespace)}/{claim.name}")
    assert [each["uid"] for each in shown["status"]["reservedFor"]] == [uid]
    assert shown["status"]["allocation"]["allocationTimestamp"] == "2026-11-30T12:00:00Z"
    await control_plane.api("DELETE", path)
    await ledger.first(PodWithdrawn, uid)
    await ledger.first(ClaimWithdrawn, claim.uid)


async def test_a_pod_costs_two_writes(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, node: str
) -> None:
    uid = await a_gated_pod(control_plane, namespace)
    demand = await ledger.first(PodRequested, uid)
    before = writes()
    await ledger.allocate(demand, node, "gpu-0")
    await eventually("the pod is bound", bound(control_plane, f"{pods(namespace)}/p"))
    await ledger.first(PodUngated, uid)
    made = {key: count - before.get(key, 0) for key, count in writes().items()}
    assert {key: count for key, count in made.items() if count} == {
        ("Allocate", "200"): 1,
        ("Ungate", "200"): 1,
    }


def writes() -> dict[tuple[str, str], float]:
    """How often what was written with which status, by this process."""
    (metric,) = WRITES.collect()
    return {
        (sample.labels["what"], sample.labels["status"]): sample.value
        for sample in metric.samples
        if sample.name.endswith("_total")
    }


async def test_a_pod_that_cannot_be_placed_is_told_so_by_an_event(
    control_plane: ControlPlane, ledger: Ledger, namespace: str
) -> None:
    uid = await a_gated_pod(control_plane, namespace)
    demand = await ledger.first(PodRequested, uid)
    fact = ClaimUnsatisfiable(
        pod=demand.pod,
        claims=demand.claims,
        refusal=Refusal.UNSATISFIABLE,
        reasons=(),
        devices=8,
        nodes=1,
        summary="8 devices on 1 node: 8 in use",
    )
    await ledger.append(fact, "no")

    async def events() -> list[str]:
        found = await control_plane.api("GET", f"/api/v1/namespaces/{namespace}/events")
        return [item["message"] for item in found["items"] if item["involvedObject"]["uid"] == uid]

    assert await eventually("the pod has an event", events) == ["8 devices on 1 node: 8 in use"]
