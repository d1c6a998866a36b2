"""The real API server keeps the promises too: the same suite that the devcluster must pass."""

from collections.abc import AsyncIterator

import pytest_asyncio
from contract.kubernetes_api.applying import ApplyPromises
from contract.kubernetes_api.claims import ClaimPromises
from contract.kubernetes_api.client import DRA, Api
from contract.kubernetes_api.pods import PodPromises
from contract.kubernetes_api.selectors import SelectorPromises
from contract.kubernetes_api.watching import Forgetful, HistoryPromises, WatchPromises
from contract.kubernetes_api.writing import WritePromises

from dra_devcluster.kubelet.connection import from_kubeconfig
from e2e.controlplane import ControlPlane, Options, Part
from e2e.controlplane.objects import a_claim


@pytest_asyncio.fixture(loop_scope="session")
async def api(control_plane: ControlPlane) -> AsyncIterator[Api]:
    """The real API server, as its admin."""
    found = from_kubeconfig(control_plane.kubeconfig())
    async with Api(found.url, found.headers, found.tls) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def forgetful() -> AsyncIterator[Forgetful]:
    """An API server that was started again: it knows only what came after."""
    options = Options(parts=frozenset({Part.ETCD, Part.API_SERVER}))
    async with ControlPlane(options) as plane:
        claims = await plane.api("GET", f"{DRA}/resourceclaims")
        await plane.api("POST", f"{DRA}/namespaces/default/resourceclaims", a_claim("later"))
        await plane.stop(Part.API_SERVER)
        await plane.start(Part.API_SERVER)
        found = from_kubeconfig(plane.kubeconfig())
        async with Api(found.url, found.headers, found.tls) as client:
            yield Forgetful(client, claims["metadata"]["resourceVersion"])


class TestWatches(WatchPromises):
    """See ``WatchPromises``."""


class TestHistory(HistoryPromises):
    """See ``HistoryPromises``."""


class TestWrites(WritePromises):
    """See ``WritePromises``."""


class TestApply(ApplyPromises):
    """See ``ApplyPromises``."""


class TestClaims(ClaimPromises):
    """See ``ClaimPromises``."""


class TestPods(PodPromises):
    """See ``PodPromises``."""


class TestSelectors(SelectorPromises):
    """See ``SelectorPromises``."""
