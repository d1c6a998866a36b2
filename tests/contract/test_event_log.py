"""What every log promises: memory, file and JetStream alike."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from facts import an_event, everything, ids
from servers import NatsServer

from dra_shared.events.subjects import CLAIMS, MIRROR, PODS
from dra_shared.log.file import FileLog
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.memory import MemoryLog
from dra_shared.log.protocol import EventLog, FencedError, Record
from dra_shared.runtime.bus import connect


@pytest.fixture(params=["memory", "file", "jetstream"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventLog]:
    match request.param:
        case "memory":
            made: EventLog = MemoryLog()
        case "file":
            made = FileLog(tmp_path / "log.jsonl")
        case _:
            server: NatsServer = request.getfixturevalue("nats_server")
            jetstream = JetStreamLog(await connect(server.url, "test"))
            await jetstream.ensure_stream()
            made = jetstream
    yield made
    await made.close()


async def test_events_are_read_in_the_order_in_which_they_were_committed(log: EventLog) -> None:
    events = [an_event(n) for n in range(2500)]
    assert await log.commit(events) == tuple(range(1, 2501))
    records = await everything(log)
    assert [r.envelope for r in records] == events
    assert [r.sequence for r in records] == list(range(1, 2501))


async def test_times_never_run_backwards(log: EventLog) -> None:
    await log.commit([an_event(n) for n in range(50)])
    times = [r.time_ns for r in await everything(log)]
    assert times == sorted(times)
    assert times[0] > 1_700_000_000_000_000_000


async def test_a_repeated_id_is_not_appended_again(log: EventLog) -> None:
    first = await log.commit([an_event(1), an_event(2)])
    again = await log.commit([an_event(2), an_event(1), an_event(3), an_event(3)])
    assert again == (first[1], first[0], 3, 3)
    assert ids(await everything(log)) == ["test:1", "test:2", "test:3"]


async def test_a_newer_epoch_fences_off_the_older_one(log: EventLog) -> None:
    old = await log.open_epoch("allocator", "a")
    await log.commit([an_event(1)], epoch=old)
    new = await log.open_epoch("allocator", "b")
    assert new.sequence > old.sequence
    with pytest.raises(FencedError, match="allocator epoch"):
        await log.commit([an_event(2)], epoch=old)
    await log.commit([an_event(3)], epoch=new)
    assert [i for i in ids(await everything(log)) if i.startswith("test")] == ["test:1", "test:3"]


async def test_epochs_of_different_writers_do_not_touch(log: EventLog) -> None:
    allocator = await log.open_epoch("allocator", "a")
    await log.open_epoch("inventory", "a")
    await log.commit([an_event(1)], epoch=allocator)


async def test_of_many_who_take_over_at_once_only_the_last_writes(log: EventLog) -> None:
    epochs = await asyncio.gather(*(log.open_epoch("w", str(n)) for n in range(5)))
    assert len({epoch.sequence for epoch in epochs}) == 5
    newest = max(epochs, key=lambda epoch: epoch.sequence)
    for epoch in epochs:
        if epoch == newest:
            await log.commit([an_event(epoch.sequence)], epoch=epoch)
        else:
            with pytest.raises(FencedError):
                await log.commit([an_event(epoch.sequence)], epoch=epoch)


async def test_reading_goes_on_behind_a_sequence(log: EventLog) -> None:
    await log.commit([an_event(n) for n in range(10)])
    assert ids(await everything(log, after=7)) == ["test:7", "test:8", "test:9"]
    assert await everything(log, after=10) == []


async def test_reading_can_be_narrowed_to_subjects(log: EventLog) -> None:
    await log.commit([an_event(n, pod=n % 2 == 0) for n in range(6)])
    for subjects, expected in (((PODS,), [1, 3, 5]), ((CLAIMS,), [2, 4, 6])):
        records = [r async for b in log.read(until=6, subjects=subjects) for r in b]
        assert [r.sequence for r in records] == expected
    both = [r async for b in log.read(until=6, subjects=(PODS, CLAIMS)) for r in b]
    assert len(both) == 6


async def test_a_follower_is_told_when_it_has_caught_up_and_then_sees_what_comes(
    log: EventLog,
) -> None:
    await log.commit([an_event(n) for n in range(3)])
    seen: list[str] = []
    async with aclosing(log.read()) as batches:
        async for batch in batches:
            seen += ids(batch)
            if not batch and len(seen) == 3:
                await log.commit([an_event(3)])
            if len(seen) == 4:
                break
    assert seen == ["test:0", "test:1", "test:2", "test:3"]


async def test_a_follower_behind_a_place_sees_the_kinds_it_asked_for_and_is_told_its_end(
    log: EventLog,
) -> None:
    await log.commit([an_event(n, pod=n % 2 == 0) for n in range(6)])
    async with aclosing(log.read(after=2, subjects=(PODS, MIRROR))) as batches:
        seen: list[Record] = []
        while batch := await anext(batches):
            seen += batch
        assert [record.sequence for record in seen] == [3, 5]
        await log.commit([an_event(n) for n in range(6, 5000)])
        await log.commit([an_event(5000, pod=True)])
        while not (batch := await anext(batches)):
            assert await log.last_sequence() == 5001
        assert [record.sequence for record in batch] == [5001]


async def test_a_follower_of_an_empty_log_is_told_at_once(log: EventLog) -> None:
    async with aclosing(log.read()) as batches:
        assert await anext(batches) == ()


async def test_an_empty_log_has_sequence_zero(log: EventLog) -> None:
    assert await log.last_sequence() == 0
    assert await log.commit([]) == ()


async def test_many_writers_at_once_lose_nothing(log: EventLog) -> None:
    async def writes(actor: str) -> None:
        for n in range(0, 60, 20):
            await log.commit([an_event(m, actor=actor) for m in range(n, n + 20)])

    await asyncio.gather(*(writes(f"w{n}") for n in range(5)))
    records = await everything(log)
    assert len(set(ids(records))) == 300
    for actor in range(5):
        mine = [i for i in ids(records) if i.startswith(f"w{actor}:")]
        assert mine == [f"w{actor}:{n}" for n in range(60)]
