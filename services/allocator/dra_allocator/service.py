"""Joins the allocator's core to NATS: read and apply always, decide and commit while the writer.

A standby keeps its state warm by reading along; it only has to start deciding. It does not try to
become the writer before it has read all there is.
"""

import asyncio
import gc
import time
from collections.abc import Sequence
from typing import Final

import structlog

from dra_allocator.core.books.cards import Card
from dra_allocator.core.engine import WRITER, Engine
from dra_allocator.core.fold.packed import DamagedSnapshotError
from dra_allocator.core.fold.snapshot import Origin, Snapshot
from dra_allocator.core.policy import policy_name
from dra_allocator.core.replay import READ, new_state
from dra_allocator.edge.garbage import collect_seldom
from dra_allocator.edge.reducer import reducer_version
from dra_allocator.edge.snapshots import SNAPSHOTS, Store, newest_fitting
from dra_allocator.edge.telling import DECISION_SECONDS, LAG, WAITING, tell, tell_cards
from dra_allocator.settings import AllocatorSettings
from dra_shared.events.envelope import Envelope
from dra_shared.events.writers import StateRecorded
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import Epoch, EventLog, Record
from dra_shared.runtime import process
from dra_shared.runtime.bus import connect
from dra_shared.runtime.endpoint import Readiness
from dra_shared.runtime.parked import count_unreadable
from dra_shared.runtime.writer import as_only_writer

ABOUT: Final = "Decides which claim gets which device, and says why not."

MOST_AT_ONCE: Final = 256
"""Decisions made before the first of them is committed."""

MOST_OUTSTANDING: Final = 4096
"""Decisions that may be under way to the log; beyond that deciding waits for it."""

RETRY_SECONDS: Final = 2.0
"""How often searches that ended at their limit are tried again; their number is bounded."""

IDLE_SECONDS: Final = 10.0
"""After so long without a new fact the state's hash is recorded, however few there were."""

UNTIDY_SECONDS: Final = 10.0
"""So long after all was read no garbage is looked for: the first decision makes millions of objects
that stay, and looking through them would take a third of its time."""

_log = structlog.get_logger()


class Service:
    """The allocator on one log."""

    def __init__(self, log: EventLog, settings: AllocatorSettings, readiness: Readiness) -> None:
        self._log = log
        self._settings = settings
        self._readiness = readiness
        self._policy = policy_name(settings.policy, strict_cards=settings.strict_cards)
        self._engine = Engine(new_state(), self._policy)
        self.caught_up = asyncio.Event()
        """Set once everything was read that stood in the log at the start."""
        self._epoch: Epoch | None = None
        self._turn = asyncio.Lock()
        self._outbox: list[Envelope] = []
        self._filled = asyncio.Event()
        self._cards: set[Card] = set()
        self._applied = 0
        self._changed_at = 0.0

    def start_from(self, snapshot: Snapshot) -> None:
        """Begins with a snapshot, before anything is read; a damaged one is left alone."""
        engine = Engine(new_state(), self._policy)
        try:
            engine.state.start_from(snapshot)
        except DamagedSnapshotError as error:
            _log.error("snapshot damaged, reading the whole log", why=str(error))
            return
        self._engine = engine

    async def follow(self) -> None:
        """Reads the log for ever, and decides each time it has caught up with it."""
        async for batch in self._log.read(after=self._engine.state.sequence, subjects=READ):
            async with self._turn:
                self._take(batch)
                if not batch and not self.caught_up.is_set():
                    self._begin()
                if not batch:
                    await self._decide()

    async def write(self, epoch: Epoch) -> None:
        """Decides and commits until cancelled or fenced off."""
        self._epoch = epoch
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._commit())
            tasks.create_task(self._come_back())
            async with self._turn:
                await self._decide()

    def _begin(self) -> None:
        """The log's end is reached for the first time."""
        self._engine.begin()
        self._readiness.there("start")
        self.caught_up.set()
        self._applied = 0

    def _take(self, batch: Sequence[Record]) -> None:
        count_unreadable(batch)
        if self.caught_up.is_set():
            for record in batch:
                self._engine.take(record)
        else:
            self._engine.state.fold(batch)
        if batch:
            self._applied += len(batch)
            self._changed_at = time.monotonic()
            LAG.set(max(0.0, time.time() - batch[-1].time_ns / 1e9))

    async def _decide(self) -> None:
        """Decides all that waits, in a thread, so that a long search delays no heartbeat."""
        epoch, engine = self._epoch, self._engine
        if epoch is None or not self.caught_up.is_set() or engine.state.sequence < epoch.sequence:
            return
        if self._applied >= self._settings.record_every and not self._record(epoch):
            return
        while engine.has_work and engine.outstanding < MOST_OUTSTANDING:
            said = await asyncio.to_thread(self._some_decisions, epoch.sequence)
            self._outbox += said
            self._filled.set()
        WAITING.set(engine.waiting)
        tell_cards(engine.state.cards.twice, self._cards)

    def _some_decisions(self, epoch: int) -> list[Envelope]:
        said: list[Envelope] = []
        while len(said) < MOST_AT_ONCE or self._engine.is_amid_group:
            started = time.perf_counter()
            envelope = self._engine.next(epoch)
            if envelope is None:
                break
            took = time.perf_counter() - started
            DECISION_SECONDS.observe(took)
            tell(envelope, took)
            said.append(envelope)
        return said

    def _record(self, epoch: Epoch) -> bool:
        """Records the state's hash if the log and the state are at the same place; says if so."""
        state = self._engine.state
        if self._engine.outstanding:
            return False
        fact = StateRecorded(writer=WRITER, upto=state.sequence, state_hash=state.hash())
        self._outbox.append(
            Envelope(
                id=f"{WRITER}:state:{state.sequence}",
                cause=state.sequence,
                actor=f"{WRITER}@{epoch.sequence}",
                fact=fact,
            )
        )
        self._filled.set()
        self._applied = 0
        return True

    async def _commit(self) -> None:
        """Appends what was decided, in order; what is decided meanwhile goes with the next append."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            events, self._outbox = self._outbox, []
            await self._log.commit(events, epoch=self._epoch)

    async def _come_back(self) -> None:
        """Tries limited searches again, and records the state of a quiet cluster."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            async with self._turn:
                self._engine.retry_limited()
                await self._decide()
                idle = time.monotonic() - self._changed_at > IDLE_SECONDS
                if idle and self._applied and self._epoch is not None:
                    self._record(self._epoch)


async def serve(settings: AllocatorSettings, readiness: Readiness) -> None:
    """Runs the allocator: reads along as a standby until it may write, then decides.

    Garbage is left lying while the state is built and for a while after: hardly any comes up, and
    looking for it again and again among millions of objects takes longer than all the rest.
    """
    gc.disable()
    name = process.instance_name(settings)
    client = await connect(settings.nats_url, f"{WRITER}/{name}")
    log = JetStreamLog(client, replicas=settings.log_replicas)
    service = Service(log, settings, readiness)
    try:
        await log.ensure_stream()
        await _start_from_snapshot(service, log, Store(client))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(service.follow())
            await service.caught_up.wait()
            asyncio.get_running_loop().call_later(UNTIDY_SECONDS, collect_seldom)
            tasks.create_task(as_only_writer(client, log, WRITER, name, service.write))
    finally:
        await log.close()


async def _start_from_snapshot(service: Service, log: JetStreamLog, store: Store) -> None:
    origin = Origin(stream=await log.identity(), reducer=reducer_version())
    found = await newest_fitting(store, log, origin)
    if found is not None:
        _, snapshot = found
        service.start_from(snapshot)
        SNAPSHOTS.labels(outcome="used").inc()
        _log.info("starting from a snapshot", sequence=snapshot.head.place.sequence)


def main() -> int:
    """Entry point of the process."""
    return process.main(AllocatorSettings, WRITER, ABOUT, serve)
