"""Joins the inventory's core to NATS: read, apply, decide when caught up, commit."""

import asyncio
from collections.abc import Sequence
from typing import Final

import structlog
from prometheus_client import Counter, Gauge

from dra_inventory.core.inventory import Inventory
from dra_inventory.core.liveness import Ears, changes
from dra_inventory.core.verify import WRITER
from dra_inventory.settings import InventorySettings
from dra_shared.events import subjects
from dra_shared.events.envelope import Envelope
from dra_shared.events.fact import MOST_BYTES
from dra_shared.events.pools import (
    NodeLost,
    NodeReturned,
    PoolPublished,
    PoolWithdrawn,
    WithdrawalReason,
)
from dra_shared.events.writers import StateRecorded
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import Epoch, EventLog, Record
from dra_shared.runtime import liveness, process
from dra_shared.runtime.bus import Connection, connect
from dra_shared.runtime.endpoint import Readiness
from dra_shared.runtime.parked import count_unreadable
from dra_shared.runtime.writer import as_only_writer

ABOUT: Final = "Turns what node agents report into pools that can be allocated from."
LONGEST_GAP: Final = 3 * liveness.LOOK

POOLS: Final = Gauge("dra_pools", "Pools that are offered")
TOO_LARGE: Final = Gauge("dra_pools_too_large", "Pools that fit into no event and are not offered")
LOST: Final = Gauge("dra_nodes_lost", "Nodes whose agent is silent")
FACTS: Final = Counter("dra_inventory_facts_total", "Facts written", ["tag"])

_log = structlog.get_logger()


class Service:
    """One epoch of the inventory."""

    def __init__(self, log: EventLog, epoch: Epoch, settings: InventorySettings) -> None:
        self._log = log
        self._epoch = epoch
        self._settings = settings
        self._state = Inventory()
        self._dirty: set[str] = set()
        self._committed = 0
        self._recorded = 0
        self._caught_up = asyncio.Event()

    async def run(self, client: Connection) -> None:
        """Serves until cancelled or fenced off."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._listen(client))

    async def _follow(self) -> None:
        subjects_read = (subjects.NODES, subjects.POOLS)
        async for batch in self._log.read(subjects=subjects_read):
            self._apply(batch)
            if not batch and self._state.applied >= self._committed:
                await self._decide()
                self._caught_up.set()

    def _apply(self, batch: Sequence[Record]) -> None:
        count_unreadable(batch)
        for record in batch:
            node = self._state.apply(record)
            if node is not None:
                self._dirty.add(node)

    async def _decide(self) -> None:
        facts = [fact for name in sorted(self._dirty) for fact in self._state.decide(name)]
        self._dirty.clear()
        if facts:
            await self._commit([self._pool_event(fact) for fact in facts])
            for fact in facts:
                self._tell(fact)
        elif self._state.applied - self._recorded >= self._settings.record_every:
            await self._record()
        self._count()

    def _count(self) -> None:
        pools = self._state.pools.values()
        POOLS.set(sum(isinstance(pool, PoolPublished) for pool in pools))
        TOO_LARGE.set(
            sum(getattr(pool, "reason", None) is WithdrawalReason.TOO_LARGE for pool in pools)
        )
        LOST.set(sum(node.lost for node in self._state.nodes.values()))

    async def _listen(self, client: Connection) -> None:
        loop = asyncio.get_running_loop()
        await self._caught_up.wait()
        ears = Ears(listening_since=loop.time())
        async for alive in liveness.alive(client):
            now = loop.time()
            ears.listen(alive, now, LONGEST_GAP)
            found = changes(self._state.nodes, ears, now, self._settings.silence_seconds)
            if found:
                await self._commit([self._liveness_event(fact) for fact in found])

    async def _record(self) -> None:
        upto = self._state.applied
        fact = StateRecorded(writer=WRITER, upto=upto, state_hash=self._state.state_hash())
        self._recorded = upto
        await self._log.commit((self._event(f"state:{upto}", fact),), epoch=self._epoch)

    async def _commit(self, events: Sequence[Envelope]) -> None:
        sequences = await self._log.commit(events, epoch=self._epoch)
        self._committed = max(self._committed, *sequences)
        for event in events:
            FACTS.labels(tag=event.fact.__struct_config__.tag).inc()

    def _pool_event(self, fact: PoolPublished | PoolWithdrawn) -> Envelope:
        pool = f"pool:{fact.driver}/{fact.pool}"
        if isinstance(fact, PoolPublished):
            return self._event(f"{pool}:published:{fact.generation - 1}", fact)
        return self._event(f"{pool}:{fact.reason}:{self._state.applied}", fact)

    def _liveness_event(self, fact: NodeLost | NodeReturned) -> Envelope:
        kind = "lost" if isinstance(fact, NodeLost) else "returned"
        _log.warning("node " + kind, node=fact.node)
        return self._event(f"node:{fact.node}:{kind}:{self._state.applied}", fact)

    def _event(
        self,
        identity: str,
        fact: PoolPublished | PoolWithdrawn | NodeLost | NodeReturned | StateRecorded,
    ) -> Envelope:
        return Envelope(
            id=f"{WRITER}:{identity}",
            cause=self._state.applied,
            correlation=getattr(fact, "node", None) or "",
            actor=f"{WRITER}@{self._epoch.sequence}",
            fact=fact,
        )

    def _tell(self, fact: PoolPublished | PoolWithdrawn) -> None:
        match fact:
            case PoolPublished():
                devices = sum(len(part.devices or ()) for part in fact.slices)
                _log.info(
                    "pool published",
                    driver=fact.driver,
                    pool=fact.pool,
                    generation=fact.generation,
                    slices=len(fact.slices),
                    devices=devices,
                )
            case PoolWithdrawn(reason=WithdrawalReason.TOO_LARGE):
                _log.error(
                    "pool not offered: it is too large for the log, "
                    "its driver must report fewer devices or shorter attributes",
                    node=fact.node,
                    driver=fact.driver,
                    pool=fact.pool,
                    bytes=fact.size,
                    limit=MOST_BYTES,
                )
            case PoolWithdrawn():
                _log.warning(
                    "pool withdrawn", driver=fact.driver, pool=fact.pool, reason=fact.reason
                )


async def serve(settings: InventorySettings, readiness: Readiness) -> None:
    """Runs the inventory: stands by until it may write, then serves."""
    name = process.instance_name(settings)
    client = await connect(settings.nats_url, f"{WRITER}/{name}")
    log = JetStreamLog(client, replicas=settings.log_replicas)
    try:
        await log.ensure_stream()
        readiness.there("start")
        await as_only_writer(
            client, log, WRITER, name, lambda epoch: Service(log, epoch, settings).run(client)
        )
    finally:
        await log.close()


def main() -> int:
    """Entry point of the process."""
    return process.main(InventorySettings, WRITER, ABOUT, serve)
