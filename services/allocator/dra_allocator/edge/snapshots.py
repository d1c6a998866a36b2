"""Where snapshots are kept, and which of them may be used: an object store in NATS.

A few places that are written in turn. The object store shows a new object only once all of it is
there, so whoever is killed while storing leaves the one before. Nothing here trusts what it finds.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import api
from nats.js.errors import (
    BadObjectMetaError,
    BucketNotFoundError,
    NotFoundError,
)
from nats.js.object_store import ObjectStore
from prometheus_client import Counter

from dra_allocator.core.fold.packed import DamagedSnapshotError
from dra_allocator.core.fold.snapshot import Origin, OtherReleaseError, Snapshot, from_bytes
from dra_shared.events.subjects import EVERYTHING
from dra_shared.log.protocol import EventLog

BUCKET: Final = "dra-snapshots"
SLOTS: Final = ("allocator-0", "allocator-1", "allocator-2")
LIFETIME: Final = 7 * 24 * 3600.0
"""Seconds; also ends what a snapshotter left behind that was killed in the middle of storing."""

CHUNK: Final = 512 * 1024
PATIENCE: Final = 30.0
"""Seconds for one snapshot to come or go."""

SNAPSHOTS: Final = Counter(
    "dra_snapshots_total",
    "Snapshots by what came of them: stored, used, thrown_away (did not verify), damaged, misfit",
    ["outcome"],
)

_log = structlog.get_logger()


class StoreUnavailableError(Exception):
    """NATS does not give or take snapshots just now; nothing is lost but time."""


class Store:
    """The places for snapshots. `replicas`: copies that NATS keeps, if it makes the bucket."""

    def __init__(self, client: Client, *, replicas: int = 1) -> None:
        self._context = client.jetstream(timeout=2)
        self._replicas = replicas

    async def put(self, snapshot: Snapshot) -> None:
        """Stores a snapshot in place of the oldest. Raises StoreUnavailableError."""
        with _trouble():
            bucket = await self._bucket()
            known = await _known(bucket)
            slot = min(SLOTS, key=lambda slot: known.get(slot, -1))
            meta = api.ObjectMeta(
                description=str(snapshot.head.place.sequence),
                options=api.ObjectMetaOptions(max_chunk_size=CHUNK),
            )
            async with asyncio.timeout(PATIENCE):
                await bucket.put(slot, snapshot.to_bytes(), meta)

    async def slots(self) -> list[str]:
        """The places that hold something, newest first. Raises StoreUnavailableError."""
        with _trouble():
            try:
                bucket = await self._context.object_store(BUCKET)
            except BucketNotFoundError:
                return []
            known = await _known(bucket)
            return sorted(known, key=lambda slot: -known[slot])

    async def get(self, slot: str) -> Snapshot:
        """What a place holds. Raises StoreUnavailableError and what `from_bytes` raises."""
        with _trouble():
            try:
                async with asyncio.timeout(PATIENCE):
                    stored = await self._read(slot)
            except (BadObjectMetaError, NotFoundError) as error:
                message = f"NATS has not all of it: {type(error).__name__}"
                raise DamagedSnapshotError(message) from error
        return from_bytes(stored)

    async def drop(self, slot: str) -> None:
        """Throws away what a place holds. Raises StoreUnavailableError."""
        with _trouble():
            bucket = await self._context.object_store(BUCKET)
            await bucket.delete(slot)

    async def _read(self, slot: str) -> bytes:
        """Asks for one chunk after the other: nats-py's way waits for flow control, 30 ms a chunk."""
        info = await (await self._context.object_store(BUCKET)).get_info(slot)
        subject = f"$O.{BUCKET}.C.{info.nuid}"
        chunks: list[bytes] = []
        after = 0
        for _ in range(info.chunks or 0):
            found = await self._context.get_msg(
                f"OBJ_{BUCKET}", seq=after + 1, subject=subject, direct=True, next=True
            )
            chunks.append(found.data or b"")
            after = found.seq or 0
        return b"".join(chunks)

    async def _bucket(self) -> ObjectStore:
        try:
            return await self._context.object_store(BUCKET)
        except BucketNotFoundError:
            config = api.ObjectStoreConfig(
                ttl=LIFETIME, storage=api.StorageType.FILE, replicas=self._replicas
            )
            return await self._context.create_object_store(BUCKET, config)


async def newest_fitting(
    store: Store, log: EventLog, origin: Origin
) -> tuple[str, Snapshot] | None:
    """The newest snapshot that is whole and of this log and fold, with its place in the store.

    None if there is no such snapshot, or if NATS is in trouble: then the log tells everything.
    Each one that is passed over is told, with the reason.
    """
    try:
        for slot in await store.slots():
            snapshot = await _fitting(store, slot, log, origin)
            if snapshot is not None:
                return slot, snapshot
    except StoreUnavailableError as error:
        _log.warning("cannot look for snapshots, reading the whole log", why=str(error))
    return None


async def _fitting(store: Store, slot: str, log: EventLog, origin: Origin) -> Snapshot | None:
    try:
        snapshot = await store.get(slot)
        why = await _why_misfit(snapshot, log, origin)
        if why is None:
            return snapshot
    except DamagedSnapshotError as error:
        SNAPSHOTS.labels(outcome="damaged").inc()
        _log.error("snapshot damaged, looking for an older one", slot=slot, why=str(error))
        return None
    except OtherReleaseError as error:
        why = str(error)
    SNAPSHOTS.labels(outcome="misfit").inc()
    _log.warning("snapshot ignored", slot=slot, why=why)
    return None


async def _why_misfit(snapshot: Snapshot, log: EventLog, origin: Origin) -> str | None:
    theirs, place = snapshot.head.origin, snapshot.head.place
    if theirs.stream != origin.stream:
        return f"it is of the log {theirs.stream}, this is {origin.stream}"
    if theirs.reducer != origin.reducer:
        return f"it was folded by release {theirs.reducer}, this is {origin.reducer}"
    if place.sequence > await log.last_sequence():
        return f"the log ends before {place.sequence}"
    async for batch in log.read(
        after=place.sequence - 1, until=place.sequence, subjects=EVERYTHING
    ):
        for record in batch:
            if (record.time_ns, record.envelope.id) == (place.time_ns, place.id):
                return None
    return f"the log has another event at {place.sequence}"


@contextmanager
def _trouble() -> Iterator[None]:
    try:
        yield
    except (NatsError, TimeoutError) as error:
        message = f"the object store {BUCKET} does not answer: {error!r}"
        raise StoreUnavailableError(message) from error


async def _known(bucket: ObjectStore) -> dict[str, int]:
    """The sequence of what each place holds."""
    known: dict[str, int] = {}
    for slot in SLOTS:
        try:
            info = await bucket.get_info(slot)
        except NotFoundError:
            continue
        known[slot] = int(info.description or 0)
    return known
