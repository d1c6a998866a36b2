"""Pools of the inventory as ResourceSlices, on a real API server."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from dra_shared.events.cluster import ForeignSlicesObserved, ForeignSlicesRemoved
from dra_shared.events.mirror import SliceRefused
from dra_shared.events.pools import PoolPublished, PoolWithdrawn, WithdrawalReason
from dra_shared.kube.devices import Device, DeviceAttribute, ResourcePool, ResourceSliceSpec
from e2e.bridging import Ledger, a_bridged_log
from e2e.controlplane import ControlPlane, eventually
from e2e.controlplane.objects import a_slice


@pytest_asyncio.fixture(loop_scope="session")
async def ledger(control_plane: ControlPlane) -> AsyncIterator[Ledger]:
    async with a_bridged_log(control_plane) as ledger:
        yield ledger


SLICES = "/apis/resource.k8s.io/v1/resourceslices"


@pytest_asyncio.fixture(loop_scope="session")
async def node(control_plane: ControlPlane, namespace_numbers: Any) -> str:
    name = f"slices.node-{next(namespace_numbers)}"
    await control_plane.add_node(name)
    return name


def a_pool(node: str, *devices: list[Device], driver: str, generation: int = 1) -> PoolPublished:
    """An edition of the node's pool, a slice for each list of devices."""
    specs = tuple(
        ResourceSliceSpec(
            driver=driver,
            pool=ResourcePool(name=node, generation=generation, resource_slice_count=len(devices)),
            node_name=node,
            devices=tuple(part),
        )
        for part in devices
    )
    return PoolPublished(driver=driver, pool=node, node=node, generation=generation, slices=specs)


def some(*names: str) -> list[Device]:
    return [Device(name=name, attributes={"model": DeviceAttribute(string="A")}) for name in names]


class Pool:
    """What the API shows of one pool."""

    def __init__(self, plane: ControlPlane, node: str, driver: str) -> None:
        self._plane, self._node, self._driver = plane, node, driver

    async def slices(self) -> list[Any]:
        found = await self._plane.api("GET", f"{SLICES}?fieldSelector=spec.nodeName={self._node}")
        ours = [each for each in found["items"] if each["spec"]["driver"] == self._driver]
        return sorted(ours, key=lambda each: str(each["metadata"]["name"]))

    async def shows(self, generation: int, *devices: list[str]) -> list[Any]:
        async def probe() -> list[Any] | None:
            found = await self.slices()
            names = [
                [device["name"] for device in each["spec"].get("devices", [])] for each in found
            ]
            editions = {each["spec"]["pool"]["generation"] for each in found}
            return found if names == list(devices) and editions == {generation} else None

        return await eventually(f"{self._node} shows {devices}", probe)


async def test_a_pool_is_published_updated_and_withdrawn_under_its_node(
    control_plane: ControlPlane, ledger: Ledger, node: str
) -> None:
    driver, uid = "one.example.com", await node_uid(control_plane, node)
    pool = Pool(control_plane, node, driver)
    await ledger.append(a_pool(node, some("a", "b"), some("c"), driver=driver), "p1")
    for each in await pool.shows(1, ["a", "b"], ["c"]):
        (owner,) = each["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Node", uid, True)
        assert each["spec"]["nodeName"] == node
    await ledger.append(a_pool(node, some("a"), driver=driver, generation=2), "p2")
    await pool.shows(2, ["a"])
    gone = WithdrawalReason.NODE_LOST
    await ledger.append(PoolWithdrawn(driver=driver, pool=node, node=node, reason=gone), "p3")
    await eventually("no slice is left", lambda: is_empty(pool))


async def test_slices_that_others_delete_or_edit_are_put_right(
    control_plane: ControlPlane, ledger: Ledger, node: str
) -> None:
    driver = "two.example.com"
    pool = Pool(control_plane, node, driver)
    await ledger.append(a_pool(node, some("a"), some("b"), driver=driver), "p1")
    first, second = await pool.shows(1, ["a"], ["b"])
    selector = f"fieldSelector=spec.nodeName={node},spec.driver={driver}"
    await control_plane.api("DELETE", f"{SLICES}?{selector}")
    await eventually("they are new", lambda: are_others(pool, first["metadata"]["uid"]))
    await pool.shows(1, ["a"], ["b"])
    edited = {"spec": {"devices": [{"name": "b"}, {"name": "stray"}]}}
    await control_plane.api("PATCH", f"{SLICES}/{second['metadata']['name']}", edited)
    await pool.shows(1, ["a"], ["b"])


async def test_a_pool_waits_for_its_node(
    control_plane: ControlPlane, ledger: Ledger, namespace_numbers: Any
) -> None:
    late, driver = f"late-{next(namespace_numbers)}", "three.example.com"
    await ledger.append(a_pool(late, some("a"), driver=driver), "p1")
    await control_plane.add_node(late)
    await Pool(control_plane, late, driver).shows(1, ["a"])


async def test_a_refused_slice_is_a_fact_once_and_no_loop(
    control_plane: ControlPlane, ledger: Ledger, node: str
) -> None:
    driver = "four.example.com"
    bad = [Device(name="Not_A_Label")]
    await ledger.append(a_pool(node, bad, driver=driver), "p1")
    refused = await ledger.first(SliceRefused, driver)
    assert refused.status == 422
    assert "Not_A_Label" in refused.message
    await ledger.append(a_pool(node, some("good"), driver=driver, generation=2), "p2")
    await Pool(control_plane, node, driver).shows(2, ["good"])
    assert len(await ledger.facts(SliceRefused, driver)) == 1


async def test_slices_of_other_drivers_are_facts_and_left_alone(
    control_plane: ControlPlane, ledger: Ledger, node: str
) -> None:
    driver = "foreign.example.com"
    made = await control_plane.api("POST", SLICES, a_slice(node, 2, driver))
    seen = await ledger.first(ForeignSlicesObserved, driver, pool=node)
    assert [device.name for device in seen.slices[0].spec.devices or ()] == ["gpu-0", "gpu-1"]
    await control_plane.api("DELETE", f"{SLICES}/{made['metadata']['name']}")
    await ledger.first(ForeignSlicesRemoved, driver, pool=node)


async def node_uid(plane: ControlPlane, node: str) -> str:
    return str((await plane.api("GET", f"/api/v1/nodes/{node}"))["metadata"]["uid"])


async def is_empty(pool: Pool) -> bool:
    return not await pool.slices()


async def are_others(pool: Pool, uid: str) -> bool:
    found = await pool.slices()
    return len(found) == 2 and uid not in {each["metadata"]["uid"] for each in found}
