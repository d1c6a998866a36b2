"""Controllers run for as long as the cluster does, and look again when they said they would."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.resources import NODES, PODS, key_of
from dra_devcluster.api.store import Event
from dra_devcluster.controllers.loop import run
from dra_devcluster.service import ControllerEndedError, control_plane


async def test_a_controller_that_ends_takes_the_cluster_with_it() -> None:
    cluster = Cluster()

    async def live() -> None:
        async with control_plane(cluster, "127.0.0.1", 0):
            cluster.store.put(PODS, {"metadata": {"name": "broken", "namespace": "default"}})
            await asyncio.Event().wait()

    with pytest.raises(ControllerEndedError, match=r"Controller ended: a fault of ours"):
        await asyncio.wait_for(live(), 10)


class Counting:
    """Counts how often it saw each node; wants to see it thrice, soon after one another."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.enough = asyncio.Event()

    def concerns(self, event: Event) -> Iterator[str]:
        if event.resource == NODES:
            yield key_of(event.after).name

    def reconcile(self, key: str) -> float | None:
        self.seen.append(key)
        if self.seen.count(key) < 3:
            return 0.01
        if len(self.seen) == 6:
            self.enough.set()
        return None


async def test_a_key_comes_again_after_the_seconds_that_it_asked_for() -> None:
    cluster, counting = Cluster(), Counting()
    for name in ("a", "b"):
        cluster.create(NODES, "", {"metadata": {"name": name}})
    running = asyncio.create_task(run(cluster, counting))
    await asyncio.wait_for(counting.enough.wait(), 10)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert sorted(counting.seen) == ["a", "a", "a", "b", "b", "b"]
