"""D14 on a real API server: it goes away and comes back, and the bridge misses and repeats nothing."""

from collections.abc import AsyncIterator

import pytest_asyncio

from dra_api_bridge.core.objects import Kind
from dra_api_bridge.edge.watch import LISTS
from dra_shared.events.claims import ClaimRequested, ClaimWithdrawn
from dra_shared.events.cluster import FeaturesObserved
from e2e.bridging import Ledger, bridging, claims
from e2e.controlplane import ControlPlane, Identity, Options, Part
from e2e.controlplane.objects import a_claim


@pytest_asyncio.fixture(loop_scope="session")
async def plane() -> AsyncIterator[ControlPlane]:
    """An API server of this test's own, to be killed."""
    async with ControlPlane(Options(parts=frozenset({Part.ETCD, Part.API_SERVER}))) as plane:
        yield plane


def lists(kind: Kind) -> float:
    return float(LISTS.labels(kind=kind)._value.get())


async def make(plane: ControlPlane, name: str) -> str:
    made = await plane.api("POST", claims("default"), a_claim(name))
    return str(made["metadata"]["uid"])


async def test_after_an_outage_each_change_is_told_once_at_the_cost_of_one_list(
    plane: ControlPlane,
) -> None:
    ledger = Ledger()
    async with bridging(plane, ledger, Identity.ADMIN):
        stays, goes = await make(plane, "stays"), await make(plane, "goes")
        for uid in (stays, goes):
            await ledger.first(ClaimRequested, uid)
        before = lists(Kind.CLAIMS)
        await plane.stop(Part.API_SERVER)
        await plane.start(Part.API_SERVER)
        await plane.api("DELETE", f"{claims('default')}/goes")
        await ledger.first(ClaimWithdrawn, goes)
        comes = await make(plane, "comes")
        await ledger.first(ClaimRequested, comes)
        assert len(await ledger.facts(ClaimRequested)) == 3
        assert len(await ledger.facts(ClaimWithdrawn)) == 1
        assert len(await ledger.facts(FeaturesObserved)) == 1
        assert lists(Kind.CLAIMS) - before <= 1
