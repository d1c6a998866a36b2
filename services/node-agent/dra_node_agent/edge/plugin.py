"""What the kubelet's calls mean, whatever version they come in: in turn, bounded, accounted for."""

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

import msgspec
import structlog

from dra_node_agent.core import cdi
from dra_node_agent.core.inventory import Inventory
from dra_node_agent.core.record import Refused
from dra_node_agent.edge import meters
from dra_node_agent.edge.ledger import Ledger, LedgerError
from dra_node_agent.edge.preparation import Preparation
from dra_node_agent.edge.turns import StillBusyError, Turns
from dra_shared.events.nodes import ClaimPrepareFailed, PreparedDevice
from dra_shared.ids import ObjectRef

T = TypeVar("T")

_log = structlog.get_logger()


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """How often preparing a claim failed, and why the last time."""

    attempts: int = 0
    cause: str = ""


_NONE: Final = Failures()


class Plugin:
    """One driver as the kubelet sees it. Calls wait until `open` gave it something to work with."""

    def __init__(self, driver: str, node: str, turns: Turns, patience: float) -> None:
        self.driver = driver
        self.node = node
        self._turns = turns
        self._patience = patience
        self._tools: asyncio.Future[tuple[Preparation, Ledger]] = (
            asyncio.get_running_loop().create_future()
        )
        self._failures: dict[str, Failures] = {}

    def open(self, preparation: Preparation, ledger: Ledger) -> None:
        """From here on calls are answered."""
        self._tools.set_result((preparation, ledger))

    async def prepare(self, claim: ObjectRef) -> tuple[PreparedDevice, ...] | Refused:
        """What the kubelet gets for one claim."""
        answer = self._turns.take(self._key(claim), lambda: self._prepare(claim), self._patience)
        return await self._account("prepare", claim, answer)

    async def unprepare(self, claim: ObjectRef) -> Refused | None:
        """None once nothing of the claim is left."""
        answer = self._turns.take(self._key(claim), lambda: self._unprepare(claim), self._patience)
        return await self._account("unprepare", claim, answer)

    async def inventory(self) -> Inventory:
        """The driver's devices as they were when the agent looked last."""
        preparation, _ = await asyncio.shield(self._tools)
        return preparation.inventory()

    def resume(self, claim: ObjectRef) -> None:
        """Goes on, in its turn, with a set-up that an earlier process did not finish."""
        self._turns.begin(
            self._key(claim), lambda: self._account("resume", claim, self._prepare(claim))
        )

    def sweep(self, claim: ObjectRef) -> None:
        """Undoes what is known to be of no use to anybody any more, unless it is being worked on."""
        if not self._turns.busy(self._key(claim)):
            self._turns.begin(
                self._key(claim), lambda: self._account("sweep", claim, self._unprepare(claim))
            )

    async def _account(
        self, call: str, claim: ObjectRef, work: Awaitable[T | Refused]
    ) -> T | Refused:
        """What the work comes to, noted in one line and in the metrics."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            outcome = await work
        except StillBusyError:
            busy = f"claim {claim} is still being worked on after {self._patience:g} s"
            outcome = Refused(cause=busy)
        seconds = clock() - began
        line = _log.bind(
            driver=self.driver, claim=str(claim), uid=claim.uid, seconds=round(seconds, 4)
        )
        if isinstance(outcome, Refused):
            meters.CALLS.labels(self.driver, call, "refused").observe(seconds)
            meters.REFUSALS.labels(self.driver, call, str(outcome.permanent).lower()).inc()
            line.warning("refused", call=call, cause=outcome.cause, permanent=outcome.permanent)
        else:
            meters.CALLS.labels(self.driver, call, "ok").observe(seconds)
            line.info("done", call=call)
        return outcome

    async def _prepare(self, claim: ObjectRef) -> tuple[PreparedDevice, ...] | Refused:
        preparation, ledger = await asyncio.shield(self._tools)
        try:
            outcome = await preparation.prepare(claim)
            if isinstance(outcome, Refused):
                self._tell_failure(ledger, claim, outcome)
                return outcome
        except LedgerError as error:
            return _broken(error)
        self._failures.pop(claim.uid, None)
        return cdi.prepared_devices(preparation.driver, outcome)

    async def _unprepare(self, claim: ObjectRef) -> Refused | None:
        preparation, _ = await asyncio.shield(self._tools)
        self._failures.pop(claim.uid, None)
        try:
            return await preparation.unprepare(claim.uid)
        except LedgerError as error:
            return _broken(error)

    def _tell_failure(self, ledger: Ledger, claim: ObjectRef, refused: Refused) -> None:
        """Each new cause becomes a fact; the same again only at attempts 2, 4, 8 and so on.

        The kubelet asks again every few seconds, for days: the log need not hold each time.
        """
        before = self._failures.get(claim.uid, _NONE)
        attempt = before.attempts + 1
        self._failures[claim.uid] = Failures(attempts=attempt, cause=refused.cause)
        if refused.cause == before.cause and attempt.bit_count() > 1:
            return
        ledger.tell(
            ClaimPrepareFailed(
                node=self.node,
                driver=self.driver,
                claim=claim,
                cause=refused.cause,
                permanent=refused.permanent,
                attempt=attempt,
                device=refused.device,
            )
        )

    def _key(self, claim: ObjectRef) -> str:
        return f"{self.driver}/{claim.uid}"


def _broken(error: LedgerError) -> Refused:
    return Refused(cause=f"the agent's ledger does not work: {error}")
