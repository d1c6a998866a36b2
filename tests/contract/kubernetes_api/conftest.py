"""The devcluster as the server under the promises."""

import itertools
from collections.abc import AsyncIterator, Iterator

import pytest
from contract.kubernetes_api.client import CORE, DRA, Api
from contract.kubernetes_api.watching import Forgetful

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.service import control_plane
from e2e.controlplane.objects import a_claim


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """A devcluster of the test's own, without kubelets."""
    async with control_plane(Cluster(), "127.0.0.1", 0) as url, Api(url) as client:
        yield client


@pytest.fixture
async def forgetful() -> AsyncIterator[Forgetful]:
    """A devcluster that remembers three changes, after more than that."""
    async with control_plane(Cluster(history=3), "127.0.0.1", 0) as url, Api(url) as client:
        claims = f"{DRA}/namespaces/default/resourceclaims"
        version = (await client.get(claims))["metadata"]["resourceVersion"]
        for number in range(4):
            await client.create(claims, a_claim(f"claim-{number}"))
        yield Forgetful(client, version)


@pytest.fixture(scope="session")
def namespace_names() -> Iterator[str]:
    return (f"promise-{number}" for number in itertools.count())


@pytest.fixture
async def namespace(api: Api, namespace_names: Iterator[str]) -> str:
    """A namespace of the test's own."""
    name = next(namespace_names)
    await api.create(f"{CORE}/namespaces", {"metadata": {"name": name}})
    return name
