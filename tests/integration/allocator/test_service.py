"""The allocator as processes, on a real NATS server."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cluster import a_claim, a_class, a_node, a_pod, a_pool
from facts import everything
from servers import NatsServer
from waiting import until

from dra_allocator.core.verify import verify
from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.writers import EpochOpened
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import EventLog
from dra_shared.runtime.bus import connect

PODS = 400


@asynccontextmanager
async def allocator(server: NatsServer, name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = os.environ | {
        "NATS_URL": server.url,
        "HTTP_PORT": "-1",
        "INSTANCE": name,
        "RECORD_EVERY": "100",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "dra_allocator", env=environment
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def tell(log: EventLog, *facts: AnyFact) -> None:
    last = await log.last_sequence()
    await log.commit(
        [Envelope(id=f"test:{last}:{n}", actor="test", fact=f) for n, f in enumerate(facts)]
    )


async def placed(log: EventLog, count: int) -> list[ClaimAllocated]:
    facts = [record.envelope.fact for record in await everything(log)]
    found = [fact for fact in facts if isinstance(fact, ClaimAllocated)]
    return found if len(found) >= count else []


async def epochs(log: EventLog) -> list[EpochOpened]:
    facts = [record.envelope.fact for record in await everything(log)]
    return [fact for fact in facts if isinstance(fact, EpochOpened)]


async def test_a_standby_goes_on_when_the_writer_is_killed_in_the_middle_of_its_work(
    nats_server: NatsServer,
) -> None:
    log = JetStreamLog(await connect(nats_server.url, "test"))
    await log.ensure_stream()
    devices = [f"d{n}" for n in range(100)]
    await tell(log, a_class())
    for number in range(5):
        await tell(log, a_node(f"n{number}", pods=100), a_pool(f"n{number}", devices))
    async with allocator(nats_server, "a") as first:
        await until(lambda: epochs(log), "the first writes")
        async with allocator(nats_server, "b"):
            pods = [(a_claim(f"c{n}"), a_pod(f"p{n}", f"c{n}")) for n in range(PODS)]
            telling = asyncio.create_task(tell(log, *(fact for pair in pods for fact in pair)))
            await until(lambda: placed(log, 20), "some pods are placed")
            first.kill()
            await telling
            decided = await until(lambda: placed(log, PODS), "all pods are placed", within=30)
    assert len({fact.pod.uid for fact in decided}) == len(decided) == PODS
    assert list(verify(await everything(log))) == []
    await log.close()


async def test_it_ends_in_good_order_when_told_to(nats_server: NatsServer) -> None:
    log = JetStreamLog(await connect(nats_server.url, "test"))
    await log.ensure_stream()
    async with allocator(nats_server, "a") as process:
        await until(lambda: epochs(log), "it writes")
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 10) == 0
    await log.close()
