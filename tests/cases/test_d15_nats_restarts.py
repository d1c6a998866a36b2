"""Case D15: NATS restarts, duplicates, garbage and reconnect storms lose and double nothing."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from facts import an_event, everything, ids
from servers import NatsServer
from waiting import until

from dra_shared.events.envelope import UnreadableFact
from dra_shared.log.jetstream import STREAM, JetStreamLog
from dra_shared.log.jetstream_reader import Reader
from dra_shared.log.protocol import Record
from dra_shared.runtime.bus import connect


@pytest.fixture
async def log(nats_server: NatsServer) -> AsyncIterator[JetStreamLog]:
    made = JetStreamLog(await connect(nats_server.url, "test"))
    await made.ensure_stream()
    yield made
    await made.close()


class Follower:
    """Reads the log for as long as the test runs."""

    def __init__(self, log: JetStreamLog) -> None:
        self.records: list[Record] = []
        self.delays: list[float] = []
        self._task = asyncio.create_task(self._follow(log))

    async def _follow(self, log: JetStreamLog) -> None:
        async for batch in log.read():
            now = time.time_ns()
            self.records += batch
            self.delays += [(now - record.time_ns) / 1e9 for record in batch]

    async def has(self, count: int) -> bool:
        return len(self.records) >= count

    def stop(self) -> None:
        self._task.cancel()


async def test_five_restarts_under_load_lose_and_double_nothing(
    log: JetStreamLog, nats_server: NatsServer
) -> None:
    follower = Follower(log)

    async def load() -> None:
        for number in range(100):
            await log.commit([an_event(number)])
            await asyncio.sleep(0.02)

    loading = asyncio.create_task(load())
    for restart in range(1, 6):

        async def some_are_in(goal: int = restart * 15) -> bool:
            return await follower.has(goal)

        await until(some_are_in, f"{restart * 15} events are read", within=20)
        nats_server.kill()
        nats_server.start()
    await asyncio.wait_for(loading, 40)
    await until(lambda: follower.has(100), "all events are read", within=15)
    assert ids(follower.records) == [f"test:{n}" for n in range(100)]
    assert [r.sequence for r in follower.records] == list(range(1, 101))
    follower.stop()


async def test_a_writer_that_never_heard_of_its_success_repeats_without_effect(
    log: JetStreamLog,
) -> None:
    for number in range(20):
        commit = asyncio.create_task(log.commit([an_event(number)]))
        await asyncio.sleep(0)
        commit.cancel()
        await asyncio.gather(commit, return_exceptions=True)
        await log.commit([an_event(number)])
    assert ids(await everything(log)) == [f"test:{n}" for n in range(20)]


async def test_garbage_in_the_log_is_parked_and_all_others_flow(log: JetStreamLog) -> None:
    await log.commit([an_event(n) for n in range(50)])
    await log._client.jetstream().publish("dra.claim.garbage", b"not an event")
    await log.commit([an_event(n) for n in range(50, 99)])
    records = await everything(log)
    parked = [r for r in records if isinstance(r.envelope.fact, UnreadableFact)]
    assert [r.sequence for r in parked] == [51]
    assert len(records) == 100


async def test_news_arrive_at_once(log: JetStreamLog) -> None:
    follower = Follower(log)
    for number in range(100):
        await log.commit([an_event(number)])
    await until(lambda: follower.has(100), "all events are read")
    assert sorted(follower.delays)[98] < 1.0
    follower.stop()


async def test_a_storm_of_reconnects_leaves_no_consumers_behind(
    log: JetStreamLog,
) -> None:
    client = log._client
    reader = Reader(client, STREAM, ("dra.>",))
    seen: list[Record] = []

    async def follow() -> None:
        async for batch in reader.batches(0):
            seen.extend(batch)

    following = asyncio.create_task(follow())
    for number in range(50):
        await log.commit([an_event(number)])

        async def number_is_read(goal: int = number + 1) -> bool:
            return len(seen) == goal

        await until(number_is_read, f"event {number} is read", within=15)
        assert client._transport is not None
        client._transport.close()  # type: ignore[no-untyped-call] # nats-py
    await log.commit([an_event(50)])

    async def few_are_left() -> bool:
        return (await client.jetstream().stream_info(STREAM)).state.consumer_count <= 2

    await until(few_are_left, "the server forgets the lost consumers", within=15)
    assert ids(seen)[:50] == [f"test:{n}" for n in range(50)]
    assert len(client._subs) <= 4
    following.cancel()
