"""The loop that joins the allocator to a log: in memory here, on NATS in the integration tests."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from cluster import a_claim, a_class, a_node, a_pod, a_pool, gone
from facts import everything
from waiting import until

from dra_allocator.core.replay import replay
from dra_allocator.core.verify import verify
from dra_allocator.service import Service
from dra_allocator.settings import AllocatorSettings
from dra_shared.events.allocations import ClaimAllocated, ClaimReleased
from dra_shared.events.claims import PodGroupRef
from dra_shared.events.envelope import AnyFact, Envelope, UnknownFact
from dra_shared.events.fact import Fact
from dra_shared.events.writers import StateRecorded
from dra_shared.log.memory import MemoryLog
from dra_shared.log.protocol import Epoch, FencedError, Record
from dra_shared.runtime.endpoint import Readiness
from dra_shared.runtime.parked import NewerReleaseError


async def tell(log: MemoryLog, *facts: AnyFact | UnknownFact) -> None:
    last = await log.last_sequence()
    await log.commit(
        [Envelope(id=f"test:{last}:{n}", actor="test", fact=f) for n, f in enumerate(facts)]
    )


@asynccontextmanager
async def allocator(
    log: MemoryLog, name: str = "a", record_every: int = 1000
) -> AsyncIterator[asyncio.Task[None]]:
    """An allocator that writes; the task ends with what went wrong."""

    async def run() -> None:
        service = Service(log, AllocatorSettings(record_every=record_every), Readiness("start"))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(service.follow())
            tasks.create_task(service.write(await log.open_epoch("allocator", name)))

    task = asyncio.create_task(run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def found(log: MemoryLog, kind: type, count: int = 1) -> list[object]:
    facts: list[object] = [record.envelope.fact for record in await everything(log)]
    facts = [fact for fact in facts if isinstance(fact, kind)]
    return facts if len(facts) >= count else []


async def a_cluster(log: MemoryLog, devices: int = 2) -> None:
    await tell(
        log, a_class(), a_node("n1", pods=500), a_pool("n1", [f"d{n}" for n in range(devices)])
    )


async def test_a_pod_is_placed_and_its_devices_come_back() -> None:
    log = MemoryLog()
    await a_cluster(log)
    async with allocator(log):
        await tell(log, a_claim("c1"), a_pod("p1", "c1"))
        await until(lambda: found(log, ClaimAllocated), "the pod is placed")
        await tell(log, gone("c1"))
        await until(lambda: found(log, ClaimReleased), "the device is given back")
    assert list(verify(await everything(log))) == []


async def test_pods_that_waited_before_the_start_are_placed() -> None:
    log = MemoryLog()
    await a_cluster(log)
    await tell(log, a_claim("c1"), a_pod("p1", "c1"))
    async with allocator(log):
        await until(lambda: found(log, ClaimAllocated), "the pod is placed")


async def test_the_hash_is_recorded_and_is_that_of_the_log() -> None:
    log = MemoryLog()
    await a_cluster(log, devices=100)
    async with allocator(log, record_every=50):
        for number in range(100):
            await tell(log, a_claim(f"c{number}"), a_pod(f"p{number}", f"c{number}"))
        await until(lambda: found(log, ClaimAllocated, 100), "all pods are placed")
        await until(lambda: found(log, StateRecorded), "a hash is recorded")
    records = await everything(log)
    assert list(verify(records)) == []
    for fact in await found(log, StateRecorded):
        assert isinstance(fact, StateRecorded)
        assert replay(records, fact.upto).hash() == fact.state_hash


async def test_a_successor_goes_on_where_the_first_one_ended() -> None:
    log = MemoryLog()
    await a_cluster(log)
    async with allocator(log):
        await tell(log, a_claim("c1"), a_pod("p1", "c1"))
        await until(lambda: found(log, ClaimAllocated), "the first pod is placed")
    async with allocator(log, "b"):
        await tell(log, a_claim("c2"), a_pod("p2", "c2"))
        await until(lambda: found(log, ClaimAllocated, 2), "the second pod is placed")
    assert list(verify(await everything(log))) == []


async def test_a_writer_that_was_replaced_stops() -> None:
    log = MemoryLog()
    await a_cluster(log)
    async with allocator(log) as task:
        await tell(log, a_claim("c1"), a_pod("p1", "c1"))
        await until(lambda: found(log, ClaimAllocated), "the first pod is placed")
        await log.open_epoch("allocator", "b")
        await tell(log, a_claim("c2"), a_pod("p2", "c2"))
        with pytest.RaisesGroup(pytest.RaisesGroup(FencedError)):
            await task
    assert len(await found(log, ClaimAllocated)) == 1


async def test_a_fact_of_a_later_release_stops_it() -> None:
    log = MemoryLog()
    async with allocator(log) as task:
        envelope = Envelope(id="x", actor="test", fact=UnknownFact(wire_tag="x.v9", raw=b"{}"))
        log._journal.add(Record(1, 0, "dra.cluster.x", envelope))
        with pytest.RaisesGroup(NewerReleaseError):
            await task


class Commits(MemoryLog):
    """A log that remembers which events came together."""

    def __init__(self) -> None:
        super().__init__()
        self.of_allocator: list[list[Fact]] = []

    async def commit(
        self, events: Sequence[Envelope], *, epoch: Epoch | None = None
    ) -> tuple[int, ...]:
        if epoch is not None:
            self.of_allocator.append([event.fact for event in events])
        return await super().commit(events, epoch=epoch)


async def test_the_decisions_on_a_group_are_committed_together_however_many_they_are() -> None:
    log = Commits()
    size = 300
    await a_cluster(log, devices=size)
    group = PodGroupRef(name="g", size=size)
    for number in range(size):
        await tell(log, a_claim(f"c{number}"), a_pod(f"p{number}", f"c{number}", group=group))
    async with allocator(log):
        await until(lambda: found(log, ClaimAllocated, size), "all are placed")
    sizes = [sum(isinstance(f, ClaimAllocated) for f in commit) for commit in log.of_allocator]
    assert [number for number in sizes if number] == [size]
