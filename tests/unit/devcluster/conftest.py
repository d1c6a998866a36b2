"""A devcluster with kubelets for the tests of this folder."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from unit.devcluster.running import Running, devcluster


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a path short enough for sockets in it, which pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="dra-") as folder:
        yield Path(folder)


@pytest.fixture
async def cluster(short_path: Path) -> AsyncIterator[Running]:
    """A devcluster with the node ``node-a``, whose kubelet wipes slices after half a second."""
    async with devcluster(short_path) as running:
        yield running
