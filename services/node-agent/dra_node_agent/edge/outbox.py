"""Carries facts from the ledger's outbox to the log, in order, until the log has each of them.

One that the log would never take is left out, aloud: it must not hold up those after it.
"""

import asyncio
from typing import Final

import structlog
from prometheus_client import Gauge

from dra_node_agent.edge.ledger import Ledger
from dra_node_agent.edge.meters import LEFT_OUT
from dra_shared.log.protocol import EventLog, EventTooLargeError, LogUnavailableError

BATCH: Final = 100
RETRY: Final = 1.0

WAITING: Final = Gauge("dra_node_agent_outbox_facts", "Facts that the log does not have yet")

_log = structlog.get_logger()


class Outbox:
    """The ledger's connection to the log, for writing."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def carry(self, log: EventLog) -> None:
        """Sends what there is and what comes, for ever."""
        while True:
            self._ledger.grown.clear()
            if not await self.send(log):
                await self._ledger.grown.wait()

    async def send(self, log: EventLog) -> bool:
        """Sends the oldest facts; False when there were none.

        The same ids are sent until the log acknowledges them, so nothing is lost or doubled.
        """
        facts = self._ledger.outbox(BATCH)
        WAITING.set(self._ledger.waiting())
        if not facts:
            return False
        try:
            await log.commit([envelope for _, envelope in facts])
        except LogUnavailableError as error:
            _log.warning("the log takes no facts, trying again", error=str(error))
            await asyncio.sleep(RETRY)
            return True
        except EventTooLargeError as error:
            LEFT_OUT.inc()
            _log.error("fact left out, the log will never take it", error=str(error))
            for number in [n for n, envelope in facts if envelope.id == error.identity]:
                self._ledger.leave_out(number)
            return True
        self._ledger.sent(facts[-1][0])
        WAITING.set(self._ledger.waiting())
        return True
