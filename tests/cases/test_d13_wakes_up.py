"""Case D13: a pod that waits is tried again when what it waits for comes, and only then."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from facts import found
from lab import Lab, Object, a_claim, a_class, a_node, a_part, a_pool_of_parts, a_request, a_slice
from servers import NatsServer
from waiting import until

from dra_allocator.service import Service
from dra_allocator.settings import AllocatorSettings
from dra_shared.events.allocations import ClaimAllocated, ClaimUnsatisfiable, Refusal
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import EventLog
from dra_shared.runtime.bus import connect
from dra_shared.runtime.endpoint import Readiness


@asynccontextmanager
async def an_allocator(
    server: NatsServer, settings: AllocatorSettings | None = None
) -> AsyncIterator[EventLog]:
    """An allocator that writes, and the log that it reads."""
    log = JetStreamLog(await connect(server.url, "test"))
    await log.ensure_stream()
    service = Service(log, settings or AllocatorSettings(), Readiness("start"))
    epoch = await log.open_epoch("allocator", "a")
    tasks = [
        asyncio.create_task(service.follow()),
        asyncio.create_task(service.write(epoch)),
    ]
    yield log
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await log.close()


async def show(log: EventLog, lab: Lab, *objects: Object) -> None:
    """The objects are there, as the log is told of them; what it knows already it keeps once."""
    lab.apply(*objects)
    await log.commit([record.envelope for record in lab.rehearsal.records])


async def test_a_claim_that_came_first_is_placed_within_two_seconds_of_its_slice(
    nats_server: NatsServer,
) -> None:
    lab = Lab()
    async with an_allocator(nats_server) as log:
        await show(log, lab, a_node("n1"), a_claim("c1"))
        await until(lambda: found(log, ClaimUnsatisfiable), "the class is missed")
        await show(log, lab, a_class())
        await until(lambda: found(log, ClaimUnsatisfiable, 2), "the device is missed")
        await show(log, lab, a_slice("n1", ["d0"]))
        await until(lambda: found(log, ClaimAllocated), "the pod is placed", within=2)
        refused = await found(log, ClaimUnsatisfiable)
    assert [one.refusal for one in refused] == [Refusal.INVALID, Refusal.UNSATISFIABLE]


def test_a_pod_that_waits_is_not_tried_while_nothing_comes_that_could_help() -> None:
    """Whether there is work is all that the service asks, at each fact and every two seconds."""
    lab = Lab(a_node("n1"))
    engine = lab.rehearsal.engine
    for missing in (a_claim("c1"), a_class()):
        lab.apply(missing)
        assert engine.has_work
        lab.allocate()
        for _ in range(100):
            engine.retry_limited()
            assert not engine.has_work
    lab.apply(a_slice("n1", ["d0"]))
    assert engine.has_work


async def test_a_search_that_hit_its_limit_is_tried_again_within_ten_seconds(
    nats_server: NatsServer,
) -> None:
    """Eight of sixteen parts fit together, and they are the last that are tried."""
    parts = [a_part(f"d{n:02}", "k", 3 if n < 8 else 2) for n in range(16)]
    pool = a_pool_of_parts("n1", "k", 16, *parts)
    async with an_allocator(nats_server, AllocatorSettings(policy="first-fit")) as log:
        await show(log, Lab(), a_class(), *pool, a_claim("c1", a_request(count=8)))
        (first, *_) = await until(lambda: found(log, ClaimUnsatisfiable), "the limit is hit")
        assert first.refusal is Refusal.SEARCH_LIMIT
        assert "search limit" in first.summary
        (placed,) = await until(lambda: found(log, ClaimAllocated), "it is placed", within=10)
    (got,) = placed.claims
    assert [cost.device.device for cost in got.costs] == [f"d{n:02}" for n in range(8, 16)]
