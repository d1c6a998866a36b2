"""Features that an API server has switched on or off are noticed, and so is what it drops."""

from collections.abc import AsyncIterator

import pytest_asyncio

from dra_shared.events.cluster import FeaturesObserved
from dra_shared.events.mirror import SliceRefused
from dra_shared.events.pools import PoolPublished
from dra_shared.kube.devices import Device, ResourcePool, ResourceSliceSpec
from e2e.bridging import Ledger, bridging
from e2e.controlplane import ControlPlane, Identity, Options, Part, eventually

ALPHA = ("ListTypeAttributes", "OptionalNodeOperations")
GATES = {**{f"DRA{name}": True for name in ALPHA}, "DRAConsumableCapacity": False}
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def odd_server() -> AsyncIterator[ControlPlane]:
    """An API server alone, with other gates than its release's."""
    parts = frozenset({Part.ETCD, Part.API_SERVER})
    async with ControlPlane(Options(parts=parts, feature_gates=GATES)) as plane:
        yield plane


async def test_features_are_those_that_the_server_really_has(odd_server: ControlPlane) -> None:
    ledger = Ledger()
    async with bridging(odd_server, ledger, Identity.ADMIN):
        seen = await ledger.first(FeaturesObserved, "")
    assert set(ALPHA) <= set(seen.features)
    assert {"DeviceTaints", "PartitionableDevices", "AdminAccess"} <= set(seen.features)
    assert "ConsumableCapacity" not in seen.features
    assert "CompatibilityGroups" not in seen.features
    assert seen.server_version.startswith("v1.37")


async def test_probing_leaves_nothing_behind(odd_server: ControlPlane) -> None:
    async with bridging(odd_server, Ledger(), Identity.ADMIN):
        found = (await odd_server.api("GET", SLICES))["items"]
        assert not [item for item in found if "probe" in item["metadata"]["name"]]


async def test_what_the_server_drops_is_told_once(odd_server: ControlPlane) -> None:
    ledger, driver = Ledger(), "drops.example.com"
    pool = ResourcePool(name="p", generation=1, resource_slice_count=1)
    devices = (Device(name="d", allow_multiple_allocations=True),)
    spec = ResourceSliceSpec(driver=driver, pool=pool, all_nodes=True, devices=devices)
    edition = PoolPublished(driver=driver, pool="p", node=None, generation=1, slices=(spec,))
    async with bridging(odd_server, ledger, Identity.ADMIN):
        await ledger.append(edition, "p1")
        told = await ledger.first(SliceRefused, driver)
        assert told.status == 200
        assert "devices.allowMultipleAllocations" in told.message
        (kept,) = (await odd_server.api("GET", SLICES))["items"]
        await odd_server.api("DELETE", f"{SLICES}/{kept['metadata']['name']}")

        async def is_back() -> bool:
            found = (await odd_server.api("GET", SLICES))["items"]
            return [item["metadata"]["uid"] for item in found] not in (
                [],
                [kept["metadata"]["uid"]],
            )

        await eventually("the slice is published again", is_back)
        assert len(await ledger.facts(SliceRefused, driver)) == 1


@pytest_asyncio.fixture(loop_scope="session")
async def changing_server() -> AsyncIterator[ControlPlane]:
    """An API server alone, without a feature, to be started again with it."""
    parts = frozenset({Part.ETCD, Part.API_SERVER})
    gates = {"DRAConsumableCapacity": False}
    async with ControlPlane(Options(parts=parts, feature_gates=gates)) as plane:
        yield plane


async def test_a_server_that_comes_back_with_another_feature_gets_what_it_dropped(
    changing_server: ControlPlane,
) -> None:
    plane, ledger, driver = changing_server, Ledger(), "later.example.com"
    pool = ResourcePool(name="p", generation=1, resource_slice_count=1)
    devices = (Device(name="d", allow_multiple_allocations=True),)
    spec = ResourceSliceSpec(driver=driver, pool=pool, all_nodes=True, devices=devices)
    edition = PoolPublished(driver=driver, pool="p", node=None, generation=1, slices=(spec,))

    async def is_whole() -> bool:
        (item,) = (await plane.api("GET", SLICES))["items"]
        return "allowMultipleAllocations" in item["spec"]["devices"][0]

    async with bridging(plane, ledger, Identity.ADMIN):
        await ledger.append(edition, "p1")
        await ledger.first(SliceRefused, driver)
        assert not await is_whole()
        await plane.stop(Part.API_SERVER)
        plane.options = Options(parts=plane.options.parts)
        await plane.start(Part.API_SERVER)
        await eventually("the slice is whole", is_whole)
        first, second = await ledger.facts(FeaturesObserved)
        assert "ConsumableCapacity" not in first.features
        assert "ConsumableCapacity" in second.features
