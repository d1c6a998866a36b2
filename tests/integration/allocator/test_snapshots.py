"""Snapshots on a real NATS server: what is stored verifies, and what cannot be checked is not used."""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from cluster import a_claim, a_class, a_node, a_pod, a_pool, gone
from facts import everything
from nats.aio.client import Client
from servers import NatsServer
from structlog.testing import capture_logs
from waiting import until

from dra_allocator.core.fold.snapshot import Origin, Place, Snapshot, take
from dra_allocator.core.replay import replay
from dra_allocator.core.verify import verify
from dra_allocator.edge.reducer import reducer_version
from dra_allocator.edge.snapshots import BUCKET, Store, newest_fitting
from dra_allocator.settings import SnapshotterSettings
from dra_allocator.snapshotter import Snapshotter
from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect
from dra_shared.runtime.endpoint import Readiness

KILLS = 6


class Stage:
    """A log on a server, and the snapshots of it."""

    def __init__(self, client: Client, origin: Origin) -> None:
        self.client = client
        self.log = JetStreamLog(client)
        self.store = Store(client)
        self.origin = origin

    async def tell(self, *facts: AnyFact) -> None:
        """Facts of others happen."""
        last = await self.log.last_sequence()
        await self.log.commit(
            [Envelope(id=f"test:{last}:{n}", actor="test", fact=f) for n, f in enumerate(facts)]
        )

    async def newest(self) -> Snapshot | None:
        """The snapshot that an allocator would start from."""
        found = await newest_fitting(self.store, self.log, self.origin)
        return found and found[1]

    async def newest_place(self) -> int:
        """How far it reaches; 0 without one."""
        snapshot = await self.newest()
        return snapshot.head.place.sequence if snapshot else 0

    async def snapshot(self, *facts: AnyFact) -> Snapshot:
        """Facts happen, and a snapshotter stores a snapshot of all there is."""
        await self.tell(*facts)
        last = await self.log.last_sequence()
        settings = SnapshotterSettings(snapshot_facts=1)
        snapshotter = Snapshotter(self.log, self.store, self.origin, settings)
        async with running(snapshotter.follow(Readiness("start"))):
            await until(lambda: self._reaches(last), "there is a snapshot of everything")
        newest = await self.newest()
        assert newest is not None
        return newest

    async def change(self, slot: str, how: Callable[[bytes], bytes]) -> None:
        """What a place holds is no longer what it was, and NATS does not know."""
        bucket = await self.client.jetstream().object_store(BUCKET)
        meta = (await bucket.get_info(slot)).meta
        await bucket.put(slot, how((await bucket.get(slot)).data or b""), meta)

    async def _reaches(self, last: int) -> bool:
        return await self.newest_place() == last


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Something that runs until left."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def stage(nats_server: NatsServer) -> AsyncIterator[Stage]:
    """A log with one node in it."""
    client = await connect(nats_server.url, "test")
    log = JetStreamLog(client)
    await log.ensure_stream()
    stage = Stage(client, Origin(stream=await log.identity(), reducer="this"))
    await stage.tell(a_class(), a_node("n1", pods=500), a_pool("n1", [f"d{n}" for n in range(100)]))
    yield stage
    await client.close()


def a_process(server: NatsServer, module: str, **settings: str) -> Any:
    """Starts a part of the allocator as its own process."""
    environment = os.environ | {"NATS_URL": server.url, "HTTP_PORT": "-1", **settings}
    return asyncio.create_subprocess_exec(
        sys.executable, "-m", module, env=environment, stderr=asyncio.subprocess.PIPE
    )


def news(logs: list[Any], event: str) -> list[Any]:
    """What was told under this message."""
    return [line for line in logs if line["event"] == event]


def with_a_wrong_bit(stored: bytes) -> bytes:
    """The same but for its last bit."""
    return stored[:-1] + bytes([stored[-1] ^ 1])


def of_another_release(stored: bytes) -> bytes:
    """A whole snapshot with something else in its head."""
    rest = stored[64:].replace(b'"origin"', b'"source"')
    return hashlib.sha256(rest).hexdigest().encode() + rest


async def placed(stage: Stage, pod: str) -> bool:
    facts = [record.envelope.fact for record in await everything(stage.log)]
    return any(isinstance(fact, ClaimAllocated) and fact.pod.name == pod for fact in facts)


async def test_a_snapshot_is_what_the_log_adds_up_to(stage: Stage) -> None:
    first = await stage.snapshot(a_claim("c1"), a_pod("p1", "c1"))
    second = await stage.snapshot(a_claim("c2"), gone("c1"))
    assert second.head.place.sequence > first.head.place.sequence
    state = replay([])
    state.start_from(second)
    assert state.hash() == replay(await everything(stage.log)).hash()


async def test_a_damaged_snapshot_gives_way_to_the_one_before(stage: Stage) -> None:
    first = await stage.snapshot(a_claim("c1"))
    await stage.snapshot(a_claim("c2"))
    await stage.change((await stage.store.slots())[0], with_a_wrong_bit)
    with capture_logs() as logs:
        assert await stage.newest() == first
    (told,) = news(logs, "snapshot damaged, looking for an older one")
    assert told["why"] == "its digest is not that of its contents"
    await stage.change((await stage.store.slots())[1], with_a_wrong_bit)
    assert await stage.newest() is None


async def test_a_snapshot_of_another_log_or_fold_is_ignored(stage: Stage) -> None:
    await stage.snapshot(a_claim("c1"))
    here = stage.origin.stream
    for origin, why in (
        (Origin(stream="DRA@then", reducer="this"), f"it is of the log {here}, this is DRA@then"),
        (Origin(stream=here, reducer="next"), "it was folded by release this, this is next"),
    ):
        with capture_logs() as logs:
            assert await newest_fitting(stage.store, stage.log, origin) is None
        assert [told["why"] for told in news(logs, "snapshot ignored")] == [why]


async def test_a_snapshot_that_another_release_stored_otherwise_is_ignored(stage: Stage) -> None:
    await stage.snapshot(a_claim("c1"))
    await stage.change("allocator-0", of_another_release)
    with capture_logs() as logs:
        assert await stage.newest() is None
    (told,) = news(logs, "snapshot ignored")
    assert told["why"].startswith("its head cannot be read")


async def test_a_snapshot_of_a_log_that_went_on_otherwise_is_ignored(stage: Stage) -> None:
    records = await everything(stage.log)
    registers = replay(records).registers
    last = records[-1]
    for sequence, identity, why in (
        (last.sequence, "another", f"the log has another event at {last.sequence}"),
        (last.sequence + 9, "x", f"the log ends before {last.sequence + 9}"),
    ):
        place = Place(sequence=sequence, time_ns=last.time_ns, id=identity)
        await stage.store.put(take(registers, stage.origin, place))
        with capture_logs() as logs:
            assert await stage.newest() is None
        assert why in [told["why"] for told in news(logs, "snapshot ignored")]


async def test_a_snapshot_that_does_not_verify_is_thrown_away(stage: Stage) -> None:
    records = await everything(stage.log)
    last = records[-1]
    place = Place(sequence=last.sequence, time_ns=last.time_ns, id=last.envelope.id)
    wrong = take(replay(records[:-1]).registers, stage.origin, place)
    await stage.store.put(wrong)
    await stage.tell(a_claim("c1"))
    settings = SnapshotterSettings(snapshot_facts=1)
    snapshotter = Snapshotter(stage.log, stage.store, stage.origin, settings)
    with capture_logs() as logs:
        async with running(snapshotter.follow(Readiness("start"))):
            await until(lambda: _told(logs, "snapshot does not verify, thrown away"), "it is told")
            await until(lambda: _is_empty(stage), "the wrong one is gone")
            await stage.tell(a_claim("c2"))
            last_place = await stage.log.last_sequence()
            await until(lambda: _is_at(stage, last_place), "the next is a right one")
    (told,) = news(logs, "snapshot does not verify, thrown away")
    assert told["registers"] == ["pools"]
    assert told["log_level"] == "error"


async def _told(logs: list[Any], event: str) -> bool:
    return bool(news(logs, event))


async def _is_empty(stage: Stage) -> bool:
    return not await stage.store.slots()


async def _is_at(stage: Stage, sequence: int) -> bool:
    return await stage.newest_place() == sequence


async def test_a_snapshotter_killed_at_any_moment_leaves_the_last_good_one(
    nats_server: NatsServer, stage: Stage
) -> None:
    stage.origin = Origin(stream=stage.origin.stream, reducer=reducer_version())
    reached = 0
    for number in range(KILLS):
        process = await a_process(nats_server, "dra_allocator.snapshotter", SNAPSHOT_FACTS="1")
        try:
            for claim in range(5 * number):
                await stage.tell(a_claim(f"c{number}-{claim}"))
            await until(partial(_is_past, stage, reached), "one more snapshot is stored")
            await stage.tell(*(a_claim(f"d{number}-{claim}") for claim in range(50)))
        finally:
            process.kill()
            await process.wait()
        with capture_logs() as logs:
            now = await stage.newest_place()
        assert now > reached
        assert logs == []
        reached = now


async def _is_past(stage: Stage, sequence: int) -> bool:
    return await stage.newest_place() > sequence


async def test_an_allocator_starts_from_a_snapshot_and_goes_on(
    nats_server: NatsServer, stage: Stage
) -> None:
    stage.origin = Origin(stream=stage.origin.stream, reducer=reducer_version())
    snapshot = await stage.snapshot(a_claim("c1"), a_pod("p1", "c1"))
    await stage.tell(a_claim("c2"), a_pod("p2", "c2"))
    process = await a_process(nats_server, "dra_allocator")
    try:
        for pod in ("p1", "p2"):
            await until(partial(placed, stage, pod), f"{pod} is placed")
    finally:
        process.terminate()
        _, told = await process.communicate()
    assert b"starting from a snapshot" in told
    assert str(snapshot.head.place.sequence).encode() in told
    assert list(verify(await everything(stage.log))) == []
