"""The allocator as processes, on a real NATS server."""

import asyncio
from contextlib import AbstractAsyncContextManager

from cluster import a_claim, a_class, a_node, a_pod, a_pool, ref
from facts import everything, found, tell
from processes import a_part
from servers import NatsServer
from waiting import until

from dra_allocator.core.verify import verify
from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.envelope import Envelope, encode
from dra_shared.events.mirror import AllocationWritten, PodUngated
from dra_shared.events.writers import EpochOpened, StateRecorded
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect

PODS = 400


def allocator(
    server: NatsServer, name: str
) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
    return a_part("dra_allocator", server, name, RECORD_EVERY="100")


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
        await until(lambda: found(log, EpochOpened), "the first writes")
        async with allocator(nats_server, "b"):
            pods = [(a_claim(f"c{n}"), a_pod(f"p{n}", f"c{n}")) for n in range(PODS)]
            telling = asyncio.create_task(tell(log, *(fact for pair in pods for fact in pair)))
            await until(lambda: found(log, ClaimAllocated, 20), "some pods are placed")
            first.kill()
            await telling
            decided = await until(
                lambda: found(log, ClaimAllocated, PODS), "all pods are placed", within=30
            )
    assert len({fact.pod.uid for fact in decided}) == len(decided) == PODS
    assert list(verify(await everything(log))) == []
    await log.close()


async def test_it_ends_in_good_order_when_told_to(nats_server: NatsServer) -> None:
    log = JetStreamLog(await connect(nats_server.url, "test"))
    await log.ensure_stream()
    async with allocator(nats_server, "a") as process:
        await until(lambda: found(log, EpochOpened), "it writes")
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 10) == 0
    await log.close()


async def test_a_log_of_a_release_that_confirmed_among_objections_is_read_alike(
    nats_server: NatsServer,
) -> None:
    client = await connect(nats_server.url, "test")
    log = JetStreamLog(client)
    await log.ensure_stream()
    await tell(log, a_class(), a_node("n1"), a_pool("n1", ["d0", "d1"]))
    await tell(log, a_claim("c1"), a_pod("p1", "c1"))
    async with allocator(nats_server, "a"):
        await until(lambda: found(log, ClaimAllocated), "the first pod is placed")
    for subject, fact in (
        ("c1-uid", AllocationWritten(claim=ref("c1"), node="n1", resource_version="1")),
        ("p1-uid", PodUngated(pod=ref("p1"), node="n1")),
    ):
        old = Envelope(id=f"old:{subject}", actor="api-bridge@1", fact=fact)
        await client.jetstream().publish(f"dra.mirror.{subject}", encode(old))
    async with a_part("dra_allocator", nats_server, "b", RECORD_EVERY="1"):
        await tell(log, a_claim("c2"), a_pod("p2", "c2"))
        await until(lambda: found(log, ClaimAllocated, 2), "the second pod is placed")
        await until(lambda: found(log, StateRecorded), "a hash is recorded")
    assert list(verify(await everything(log))) == []
    await log.close()
