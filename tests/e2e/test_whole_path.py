"""The whole path on the real control plane: many pods, many nodes, nothing twice, nothing lost."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.controlplane import ControlPlane, eventually
from e2e.controlplane.objects import a_claim_template, a_pod, from_template
from e2e.whole import RESOURCE, Whole, whole_system, with_cpu

NODES = [f"big-{n:02}" for n in range(25)]


@pytest_asyncio.fixture(loop_scope="session")
async def whole(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Whole]:
    for name in NODES:
        await control_plane.add_node(name, labels={"size": "big"})
    template = a_claim_template("one-gpu")
    path = f"{RESOURCE}/namespaces/{namespace}/resourceclaimtemplates"
    await control_plane.api("POST", path, template)
    async with whole_system(control_plane, nodes=NODES) as system:
        await system.has_slices(NODES)
        yield system
    for pod in await system.items(f"/api/v1/namespaces/{namespace}/pods"):
        await delete_pod(system, namespace, pod["metadata"]["name"])
    for name in NODES:
        await control_plane.api("DELETE", f"/api/v1/nodes/{name}")


async def delete_pod(whole: Whole, namespace: str, name: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods/{name}?gracePeriodSeconds=0"
    await whole.plane.api("DELETE", path)


async def test_slices_hold_eight_gpus_and_are_owned_by_their_node(whole: Whole) -> None:
    nodes = {node["metadata"]["name"]: node for node in await whole.items("/api/v1/nodes")}
    for found in await whole.slices_of(NODES):
        node = nodes[found["spec"]["nodeName"]]
        (owner,) = found["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Node", node["metadata"]["uid"])
        assert [d["name"] for d in found["spec"]["devices"]] == [f"gpu-{n}" for n in range(8)]


@pytest.mark.timeout(300)
async def test_a_full_cluster_gives_every_device_once_also_after_half_of_it_changed(
    whole: Whole, namespace: str
) -> None:
    await whole.create_pods(namespace, "one-gpu", [f"pod-{n}" for n in range(200)])
    await whole.all_bound(namespace, 200)
    holders = await whole.holders(namespace)
    assert len(holders) == 200
    assert set(holders.values()) == {1}
    await whole.verified()

    for n in range(0, 200, 2):
        await delete_pod(whole, namespace, f"pod-{n}")
    await whole.create_pods(namespace, "one-gpu", [f"again-{n}" for n in range(100)])
    await whole.all_bound(namespace, 200)
    holders = await whole.holders(namespace)
    assert len(holders) == 200
    assert set(holders.values()) == {1}
    await whole.verified()


async def test_a_pod_whose_node_is_full_gets_another_node(whole: Whole, namespace: str) -> None:
    template = [from_template("gpu", "one-gpu")]
    path = f"/api/v1/namespaces/{namespace}/pods"
    await whole.plane.api("POST", path, a_pod("first", template))
    (first,) = await whole.all_bound(namespace, 1)
    node = first["spec"]["nodeName"]
    allocatable = (await whole.plane.api("GET", f"/api/v1/nodes/{node}"))["status"]["allocatable"]
    await whole.plane.api("POST", path, with_cpu(a_pod("hog", nodeName=node), allocatable["cpu"]))
    await whole.plane.api("POST", path, with_cpu(a_pod("second", template), "1"))
    await whole.all_bound(namespace, 3)

    async def elsewhere() -> bool:
        second = await whole.plane.api("GET", f"{path}/second")
        return second["spec"].get("nodeName") not in (None, node)

    await eventually("the second pod is on another node", elsewhere)
    await whole.verified()
