"""The bridge and others at the same claims: conflicts, refusals, shared and foreign allocations."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.claims import ClaimRequested, PodRequested
from dra_shared.events.cluster import NodeObserved
from dra_shared.events.mirror import (
    AllocationCleared,
    AllocationRefused,
    AllocationWritten,
    ClearedBy,
    ForeignAllocationObserved,
    PodUngated,
)
from dra_shared.events.pools import PoolPublished
from dra_shared.kube.devices import ResourcePool, ResourceSliceSpec
from e2e.bridging import (
    AT,
    RESOURCE,
    Ledger,
    a_bridged_log,
    a_gated_pod,
    bound,
    bridging,
    claims,
    pods,
)
from e2e.controlplane import ControlPlane, Identity, eventually
from e2e.controlplane.objects import a_claim, a_pod, an_allocation, from_claim

MERGES = 30


@pytest_asyncio.fixture(loop_scope="session")
async def ledger(control_plane: ControlPlane) -> AsyncIterator[Ledger]:
    async with a_bridged_log(control_plane) as ledger:
        yield ledger


@pytest_asyncio.fixture(loop_scope="session")
async def node(control_plane: ControlPlane, namespace_numbers: Any) -> str:
    name = f"conflict-node-{next(namespace_numbers)}"
    await control_plane.add_node(name)
    return name


async def a_pod_on(plane: ControlPlane, namespace: str, name: str, claim: str) -> str:
    pod = a_pod(name, [from_claim("gpu", claim)])
    made = await plane.api("POST", pods(namespace), pod, Identity.TENANT)
    return str(made["metadata"]["uid"])


async def test_conflicting_writes_are_read_again_and_repeated(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, node: str
) -> None:
    uid = await a_gated_pod(control_plane, namespace)
    demand = await ledger.first(PodRequested, uid)
    path = f"{claims(namespace)}/{demand.claims[0].name}"

    async def disturb() -> None:
        for count in range(MERGES):
            patch = {"metadata": {"annotations": {"count": str(count)}}}
            await control_plane.api("PATCH", path, patch)

    disturbance = asyncio.create_task(disturb())
    await ledger.allocate(demand, node, "gpu-0")
    await disturbance
    await eventually("the pod is bound", bound(control_plane, f"{pods(namespace)}/p"))
    assert (await control_plane.api("GET", path))["metadata"]["annotations"]["count"] == "29"


async def test_a_refused_allocation_is_a_fact_once_and_no_loop(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, node: str
) -> None:
    uid = await a_gated_pod(control_plane, namespace)
    demand = await ledger.first(PodRequested, uid)
    (claim,) = demand.claims
    await ledger.allocate(demand, node, "Not_A_Device")
    refused = await ledger.first(AllocationRefused, claim.uid)
    assert refused.status == 422
    assert "Not_A_Device" in refused.message
    await ledger.allocate(demand, node, "gpu-0")
    await eventually("the pod is bound", bound(control_plane, f"{pods(namespace)}/p"))
    assert len(await ledger.facts(AllocationRefused, claim.uid)) == 1


async def test_a_shared_claim_is_reserved_for_each_of_its_pods(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, node: str
) -> None:
    await control_plane.api("POST", claims(namespace), a_claim("c"))
    uids = [await a_pod_on(control_plane, namespace, name, "c") for name in ("a", "b")]
    first, second = [await ledger.first(PodRequested, uid) for uid in uids]
    await ledger.allocate(first, node, "gpu-0")
    await ledger.append(
        ClaimAllocated(
            pod=second.pod, node=node, claims=(), shared=second.claims, policy="test", time=AT
        ),
        "second",
    )
    for name in ("a", "b"):
        await eventually("it is bound", bound(control_plane, f"{pods(namespace)}/{name}"))
    shown = await control_plane.api("GET", f"{claims(namespace)}/c")
    assert sorted(each["uid"] for each in shown["status"]["reservedFor"]) == sorted(uids)


async def test_an_allocation_by_others_is_a_fact_and_so_is_its_end(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, node: str
) -> None:
    made = await control_plane.api("POST", claims(namespace), a_claim("c"))
    uid = made["metadata"]["uid"]
    await ledger.first(ClaimRequested, uid)
    path = f"{claims(namespace)}/c/status"
    given = {"status": {"allocation": an_allocation(node, "gpu-7", AT)}}
    await control_plane.api("PATCH", path, given)
    seen = await ledger.first(ForeignAllocationObserved, uid)
    assert [each.device for each in seen.allocation.devices.results or ()] == ["gpu-7"]
    await control_plane.api("PATCH", path, {"status": {"allocation": None}})
    assert (await ledger.first(AllocationCleared, uid)).by is ClearedBy.OTHERS


async def test_a_claim_without_finalizer_gets_it_before_the_allocation(
    control_plane: ControlPlane, ledger: Ledger, ignored_namespace: str, node: str
) -> None:
    await control_plane.api("POST", claims(ignored_namespace), a_claim("c"))
    gate = [{"name": "dra-ledger.io/allocation"}]
    pod = a_pod("p", [from_claim("gpu", "c")], schedulingGates=gate)
    made = await control_plane.api("POST", pods(ignored_namespace), pod)
    demand = await ledger.first(PodRequested, made["metadata"]["uid"])
    await ledger.allocate(demand, node, "gpu-0")
    path = f"{pods(ignored_namespace)}/p"
    await eventually("the pod is bound", bound(control_plane, path))
    claim = await control_plane.api("GET", f"{claims(ignored_namespace)}/c")
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]


async def test_a_gate_of_others_stays(
    control_plane: ControlPlane, ledger: Ledger, namespace: str, node: str
) -> None:
    theirs = {"name": "example.com/quota"}
    await control_plane.api("POST", claims(namespace), a_claim("c"))
    pod = a_pod("p", [from_claim("gpu", "c")], schedulingGates=[theirs])
    made = await control_plane.api("POST", pods(namespace), pod)
    await ledger.allocate(await ledger.first(PodRequested, made["metadata"]["uid"]), node, "gpu-0")

    async def gates() -> bool:
        shown = await control_plane.api("GET", f"{pods(namespace)}/p")
        return bool(shown["spec"].get("schedulingGates") == [theirs])

    await eventually("ours alone is gone", gates)


async def test_a_restart_appends_nothing_that_the_log_has(
    control_plane: ControlPlane, namespace: str, node: str
) -> None:
    ledger = Ledger()
    async with bridging(control_plane, ledger):
        uid = await a_gated_pod(control_plane, namespace)
        demand = await ledger.first(PodRequested, uid)
        await ledger.allocate(demand, node, "gpu-0")
        await ledger.first(PodUngated, uid)
        await ledger.first(AllocationWritten, demand.claims[0].uid)
        await ledger.first(NodeObserved, node)
    before = len(await ledger.records())
    await ledger.append(a_marker_pool(node), "marker")
    async with bridging(control_plane, ledger):
        path = f"{RESOURCE}/resourceslices?fieldSelector=spec.nodeName={node}"
        await eventually("it has looked at all", lambda: has_items(control_plane, path))
    about = {uid, node, demand.claims[0].uid}
    new = [record.envelope for record in (await ledger.records())[before:]]
    assert [event.id for event in new if event.correlation in about] == []


def a_marker_pool(node: str) -> PoolPublished:
    """A pool whose slice shows that a bridge has taken in the log and all lists."""
    spec = ResourceSliceSpec(
        driver="marker.example.com",
        pool=ResourcePool(name=node, generation=1, resource_slice_count=1),
        node_name=node,
    )
    return PoolPublished(
        driver="marker.example.com", pool=node, node=node, generation=1, slices=(spec,)
    )


async def has_items(plane: ControlPlane, path: str) -> bool:
    return bool((await plane.api("GET", path))["items"])
