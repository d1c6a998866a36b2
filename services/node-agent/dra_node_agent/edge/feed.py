"""What the log says about this node: learnt once if the ledger is new, then followed for ever."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from dra_node_agent.core.history import History, KnownAllocation
from dra_node_agent.edge.ledger import Ledger
from dra_shared.events.subjects import allocations_on, of_node
from dra_shared.log.protocol import EventLog, LogUnavailableError, Record

RETRY: Final = 1.0

_log = structlog.get_logger()


class Feed:
    """The ledger's connection to the log, for reading."""

    def __init__(self, ledger: Ledger, node: str) -> None:
        self._ledger = ledger
        self._node = node
        self._news = asyncio.Event()

    async def allocation(self, uid: str, patience: float) -> KnownAllocation | None:
        """The claim's allocation, waited for up to `patience` seconds; None: still not known."""
        try:
            async with asyncio.timeout(patience):
                while (known := self._ledger.allocation(uid)) is None:
                    await self._news.wait()
        except TimeoutError:
            return None
        return known

    async def history(self, log: EventLog) -> History:
        """All that the log holds about the node; allocations go into the ledger on the way."""
        history = History()
        last = await log.last_sequence()
        subjects = (of_node(self._node), allocations_on(self._node))
        learnt: list[Record] = []
        async for batch in log.read(until=last, subjects=subjects):
            for record in batch:
                history.apply(record.envelope.fact)
            learnt.extend(batch)
        if learnt:
            self._ledger.learn(learnt)
        self._ledger.read_to(last)
        self._tell_waiting()
        return history

    async def follow(self, log: EventLog, caught_up: Callable[[], None]) -> None:
        """Learns of each allocation as it comes; calls `caught_up` at each end of the log."""
        while True:
            try:
                await self._follow(log, caught_up)
            except LogUnavailableError as error:
                _log.warning("cannot follow the log, trying again", error=str(error))
                await asyncio.sleep(RETRY)

    async def _follow(self, log: EventLog, caught_up: Callable[[], None]) -> None:
        subjects = (allocations_on(self._node),)
        async for batch in log.read(after=self._ledger.position, subjects=subjects):
            if not batch:
                caught_up()
                continue
            self._ledger.learn(batch)
            self._tell_waiting()

    def _tell_waiting(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
