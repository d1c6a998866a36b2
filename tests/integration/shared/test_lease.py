"""Leases and signs of life on a real NATS server."""

import asyncio

from processes import questions_for_leases
from servers import NatsServer
from structlog.testing import capture_logs
from waiting import until

from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import Epoch
from dra_shared.runtime import liveness
from dra_shared.runtime.bus import connect
from dra_shared.runtime.lease import TTL, Lease
from dra_shared.runtime.writer import as_only_writer


async def test_a_lease_has_one_holder_and_passes_on_when_given_back(
    nats_server: NatsServer,
) -> None:
    client = await connect(nats_server.url, "test")
    first, second = Lease(client, "allocator", "a"), Lease(client, "allocator", "b")
    await first.acquire()
    questions = await questions_for_leases(client)
    waiting = asyncio.create_task(second.acquire())
    for _ in ("asked and refused", "asks again"):
        await questions.next_msg(5)
    assert not waiting.done()
    await first.release()
    await asyncio.wait_for(waiting, 2)
    await client.close()


async def test_a_holder_that_comes_back_has_its_lease_at_once(nats_server: NatsServer) -> None:
    client = await connect(nats_server.url, "test")
    await Lease(client, "allocator", "a").acquire()
    await asyncio.wait_for(Lease(client, "allocator", "a").acquire(), 1)
    await client.close()


async def test_a_lease_is_given_back_although_its_last_renewal_was_not_heard_of(
    nats_server: NatsServer,
) -> None:
    client = await connect(nats_server.url, "test")
    lease = Lease(client, "allocator", "a")
    await lease.acquire()
    await Lease(client, "allocator", "a").acquire()
    with capture_logs() as logs:
        await lease.release()
    await asyncio.wait_for(Lease(client, "allocator", "b").acquire(), TTL / 2)
    assert logs == []
    await client.close()


async def test_a_silent_holder_loses_its_lease(nats_server: NatsServer) -> None:
    client = await connect(nats_server.url, "test")
    await Lease(client, "allocator", "a").acquire()
    await asyncio.wait_for(Lease(client, "allocator", "b").acquire(), TTL + 2)
    await client.close()


async def test_a_lease_is_kept_over_a_restart_of_the_server(nats_server: NatsServer) -> None:
    client = await connect(nats_server.url, "test")
    lease = Lease(client, "allocator", "a")
    await lease.acquire()
    keeping = asyncio.create_task(lease.keep())
    nats_server.kill()
    nats_server.start()
    done, _ = await asyncio.wait((keeping,), timeout=TTL + 2)
    assert not done
    keeping.cancel()
    await client.close()


async def test_of_two_writers_one_serves_until_it_ends(nats_server: NatsServer) -> None:
    client = await connect(nats_server.url, "test")
    log = JetStreamLog(client)
    await log.ensure_stream()
    serving: list[str] = []

    async def serve(name: str) -> None:
        async def work(_: Epoch) -> None:
            serving.append(name)
            await asyncio.Event().wait()

        await as_only_writer(client, log, "inventory", name, work)

    tasks = {name: asyncio.create_task(serve(name)) for name in ("a", "b")}

    async def count(wanted: int) -> bool:
        return len(serving) == wanted

    await until(lambda: count(1), "one serves")
    first = serving[0]
    tasks[first].cancel()
    await until(lambda: count(2), "the other serves", within=5)
    assert set(serving) == {"a", "b"}
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    await client.close()


async def test_who_beats_is_alive_and_who_stops_is_not(nats_server: NatsServer) -> None:
    client = await connect(nats_server.url, "test")
    beating = asyncio.create_task(liveness.beat(client, "node.a"))
    seen: frozenset[str] = frozenset()

    async def watch() -> None:
        nonlocal seen
        async for nodes in liveness.alive(client):
            seen = nodes

    watching = asyncio.create_task(watch())

    async def is_alive() -> bool:
        return "node.a" in seen

    async def is_silent() -> bool:
        return not seen

    await until(is_alive, "the node is seen")
    beating.cancel()
    await until(is_silent, "the node is no longer seen", within=liveness.TTL + 5)
    watching.cancel()
    await client.close()
