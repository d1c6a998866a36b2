"""`python -m dra_allocator.snapshotter`: keeps snapshots of the log, from which allocators start.

A process of its own that folds the log itself, from its beginning, so that no fault of a running
allocator, nor of an older snapshot, gets into a new one. A new one is stored only if two other ways
lead to the same registers: reading it back, and the snapshot before it with the log from there on.
"""

import asyncio
import gc
import time
from typing import Final

import structlog
from prometheus_client import Gauge

from dra_allocator.core.fold.evolve import fold
from dra_allocator.core.fold.packed import DamagedSnapshotError
from dra_allocator.core.fold.registers import Registers
from dra_allocator.core.fold.snapshot import (
    Origin,
    Place,
    Snapshot,
    recounted,
    take,
)
from dra_allocator.core.replay import READ
from dra_allocator.edge.reducer import reducer_version
from dra_allocator.edge.snapshots import (
    SNAPSHOTS,
    Store,
    StoreUnavailableError,
    newest_fitting,
)
from dra_allocator.settings import SnapshotterSettings
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import EventLog, Record
from dra_shared.runtime import process
from dra_shared.runtime.bus import connect
from dra_shared.runtime.endpoint import Readiness
from dra_shared.runtime.parked import count_unreadable

ABOUT: Final = "Keeps snapshots of the log, so that allocators start sooner."
NAME: Final = "snapshotter"

NEWEST: Final = Gauge("dra_snapshot_sequence", "Place in the log of the newest snapshot stored")

_log = structlog.get_logger()


class Snapshotter:
    """Snapshots of one log."""

    def __init__(
        self, log: EventLog, store: Store, origin: Origin, settings: SnapshotterSettings
    ) -> None:
        self._log = log
        self._store = store
        self._origin = origin
        self._settings = settings
        self._registers = Registers()
        self._newest: Record | None = None
        self._fresh = 0
        self._looked_at: float | None = None

    async def follow(self, readiness: Readiness) -> None:
        """Reads the log for ever, and takes a snapshot whenever one is due. Raises nats' errors."""
        async for batch in self._log.read(subjects=READ):
            count_unreadable(batch)
            for record in batch[-1:]:
                self._newest = record
            fold(self._registers, batch)
            self._fresh += len(batch)
            if not batch:
                readiness.there("start")
            if self._newest is not None and self._is_due(caught_up=not batch):
                await self._take(self._newest)

    def _is_due(self, *, caught_up: bool) -> bool:
        """Whether there is enough news: the first time the log's end is reached, any is."""
        if self._looked_at is None:
            return caught_up
        if self._fresh >= self._settings.snapshot_facts:
            return True
        age = time.monotonic() - self._looked_at
        return caught_up and self._fresh > 0 and age >= self._settings.snapshot_seconds

    async def _take(self, newest: Record) -> None:
        """Takes a snapshot and stores it if it verifies. Whatever fails, the next will be due."""
        self._fresh, self._looked_at = 0, time.monotonic()
        place = Place(sequence=newest.sequence, time_ns=newest.time_ns, id=newest.envelope.id)
        try:
            before = await newest_fitting(self._store, self._log, self._origin)
            if before is None or before[1].head.place != place:
                snapshot = await asyncio.to_thread(take, self._registers, self._origin, place)
                if not await self._is_verified(snapshot, before):
                    return
                await self._store.put(snapshot)
                SNAPSHOTS.labels(outcome="stored").inc()
                size = len(snapshot.packed)
                _log.info("snapshot stored", sequence=place.sequence, bytes=size)
        except StoreUnavailableError as error:
            _log.warning("snapshot not stored", sequence=place.sequence, why=str(error))
        else:
            NEWEST.set(place.sequence)
        finally:
            gc.collect()

    async def _is_verified(self, snapshot: Snapshot, before: tuple[str, Snapshot] | None) -> bool:
        """Whether it says what it was taken of, and what the one before and the log lead to.

        If the one before leads elsewhere it goes too: the next is held against the whole log.
        """
        slot, older = before or (None, None)
        wrong = await self._differences(snapshot, snapshot)
        if not wrong:
            wrong = await self._differences(snapshot, older)
            if wrong and slot is not None:
                await self._store.drop(slot)
        if wrong:
            SNAPSHOTS.labels(outcome="thrown_away").inc()
            _log.error(
                "snapshot does not verify, thrown away",
                sequence=snapshot.head.place.sequence,
                before=older and older.head.place.sequence,
                registers=wrong,
            )
        return not wrong

    async def _differences(self, snapshot: Snapshot, start: Snapshot | None) -> list[str]:
        """The registers that come out otherwise on the way from `start`, None: from nothing."""
        registers, expected = Registers(), snapshot.head.digests
        try:
            if start is not None:
                start.fill(registers)
            await self._fold(registers, start, snapshot.head.place.sequence)
            found = await asyncio.to_thread(recounted, registers)
        except DamagedSnapshotError as error:
            return [str(error)]
        return sorted(name for name in expected if expected[name] != found[name])

    async def _fold(self, registers: Registers, start: Snapshot | None, until: int) -> None:
        """What the log has behind `start`, None: from its beginning."""
        after = start.head.place.sequence if start is not None else 0
        async for batch in self._log.read(after=after, until=until, subjects=READ):
            fold(registers, batch)


async def serve(settings: SnapshotterSettings, readiness: Readiness) -> None:
    """Runs the snapshotter. Garbage is collected between snapshots only, for the sake of speed."""
    gc.disable()
    client = await connect(settings.nats_url, f"{NAME}/{process.instance_name(settings)}")
    log = JetStreamLog(client, replicas=settings.log_replicas)
    try:
        await log.ensure_stream()
        origin = Origin(stream=await log.identity(), reducer=reducer_version())
        store = Store(client, replicas=settings.log_replicas)
        await Snapshotter(log, store, origin, settings).follow(readiness)
    finally:
        await log.close()


def main() -> int:
    """Entry point of the process."""
    return process.main(SnapshotterSettings, NAME, ABOUT, serve)


if __name__ == "__main__":
    raise SystemExit(main())
