"""Leads the claims of one driver through their lives: plan, record, effect, record.

Every step is in the ledger before its effect, every effect may be repeated, and what failed is
undone in reverse. Needs neither NATS nor the Kubernetes API for what it already knows.
"""

import asyncio
from collections.abc import Callable

import msgspec

from dra_node_agent.core import cdi
from dra_node_agent.core.conflicts import conflict
from dra_node_agent.core.inventory import Inventory
from dra_node_agent.core.lifecycle import Phase, Step
from dra_node_agent.core.plan import Driver, plan, same_devices
from dra_node_agent.core.record import ClaimRecord, Refused
from dra_node_agent.edge.cdi_directory import CdiDirectory, CdiError
from dra_node_agent.edge.faults import FaultPoints, Point
from dra_node_agent.edge.feed import Feed
from dra_node_agent.edge.ledger import Ledger
from dra_node_agent.edge.scanner import DeviceError, Scanner
from dra_shared.events.nodes import ClaimPrepared, ClaimUnprepared
from dra_shared.ids import ObjectRef


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Where the agent runs, and how long it waits: for an allocation, for a set-up or undo."""

    node: str
    boot_id: str
    allocation_patience: float
    effect_patience: float


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What a preparation works with."""

    ledger: Ledger
    feed: Feed
    cdi: CdiDirectory
    scanner: Scanner
    faults: FaultPoints
    inventory: Callable[[], Inventory]


class Preparation:
    """Prepares and undoes claims at one driver; callers see to it that a claim has one at a time."""

    def __init__(self, driver: Driver, site: Site, tools: Tools) -> None:
        self.driver = driver
        self._site = site
        self._tools = tools
        self._ledger = tools.ledger
        self.inventory = tools.inventory

    async def prepare(self, claim: ObjectRef) -> ClaimRecord | Refused:
        """The claim, ready for use, with the same devices each time; or why not."""
        record = self._ledger.record(claim.uid, self.driver.name)
        if record is not None and record.phase is Phase.UNDOING:
            refused = await self.undo(record)
            if refused is not None:
                return refused
            record = None
        if record is None or record.phase is Phase.GONE:
            accepted = await self._accept(claim)
            return accepted if isinstance(accepted, Refused) else await self.set_up(accepted)
        if refused := self._overtaken(record):
            return refused
        if record.phase is not Phase.PREPARED:
            return await self.set_up(record)
        return await self._again(record)

    async def unprepare(self, uid: str) -> Refused | None:
        """None once nothing of the claim is left here, be it known or not."""
        record = self._ledger.record(uid, self.driver.name)
        if record is None or record.phase is Phase.GONE:
            return None
        return await self.undo(record)

    async def set_up(self, record: ClaimRecord) -> ClaimRecord | Refused:
        """Does, or goes on with, what the ledger says was intended; undoes all if it fails."""
        if record.phase is Phase.ACCEPTED:
            if refused := self._exchanged(record):
                return refused
            record = record.after(Step.BEGIN_SET_UP, self._site.boot_id)
            self._ledger.write(record)
        try:
            async with asyncio.timeout(self._site.effect_patience):
                for device in record.devices:
                    await self._tools.scanner.set_up(record.claim.uid, device)
                await self._tools.cdi.put(record)
                await self._reach(Point.PREPARED, record)
        except (DeviceError, CdiError, OSError) as error:
            return await self._give_up(record, error)
        record = record.after(Step.FINISH_SET_UP, self._site.boot_id)
        self._ledger.write(record, self.prepared_fact(record))
        return record

    async def undo(self, record: ClaimRecord) -> Refused | None:
        """Takes everything back, the last device first; None once it is gone."""
        was_prepared = record.phase in (Phase.PREPARED, Phase.UNDOING, Phase.ACCEPTED)
        if record.phase is not Phase.UNDOING:
            record = record.after(Step.BEGIN_UNDO, self._site.boot_id)
            self._ledger.write(record)
        try:
            async with asyncio.timeout(self._site.effect_patience):
                await self._tools.cdi.remove(record)
                for device in reversed(record.devices):
                    await self._tools.scanner.tear_down(record.claim.uid, device)
        except (DeviceError, CdiError, OSError) as error:
            return Refused(cause=f"claim {record.claim} is not undone yet: {_text(error)}")
        gone = record.after(Step.FINISH_UNDO, self._site.boot_id)
        fact = ClaimUnprepared(node=self._site.node, driver=self.driver.name, claim=record.claim)
        self._ledger.write(gone, *((fact,) if was_prepared else ()))
        return None

    def prepared_fact(self, record: ClaimRecord) -> ClaimPrepared:
        """What the log is told of a prepared claim."""
        return ClaimPrepared(
            node=self._site.node,
            driver=self.driver.name,
            claim=record.claim,
            boot_id=record.boot_id,
            devices=cdi.prepared_devices(self.driver, record),
        )

    async def _accept(self, claim: ObjectRef) -> ClaimRecord | Refused:
        known = await self._tools.feed.allocation(claim.uid, self._site.allocation_patience)
        if known is None:
            return Refused(
                cause=f"the allocation of claim {claim} (uid {claim.uid}) has not reached node "
                f"{self._site.node} yet: is the log available, is the claim allocated here?"
            )
        devices = plan(claim.uid, known.allocation, self.driver, self.inventory())
        if isinstance(devices, Refused):
            return devices
        record = ClaimRecord(
            claim=claim,
            driver=self.driver.name,
            boot_id=self._site.boot_id,
            phase=Phase.GONE,
            devices=devices,
        ).after(Step.ACCEPT, self._site.boot_id)
        if refused := conflict(record, self._ledger.live(self.driver.name)):
            return refused
        record = record.after(Step.BEGIN_SET_UP, self._site.boot_id)
        self._ledger.write(record)
        return record

    async def _again(self, record: ClaimRecord) -> ClaimRecord | Refused:
        try:
            await self._tools.cdi.put(record)
        except (CdiError, OSError) as error:
            return Refused(cause=_text(error))
        return record

    async def _give_up(self, record: ClaimRecord, error: Exception) -> Refused:
        cause = f"set-up of claim {record.claim} failed: {_text(error)}"
        refused = await self.undo(record)
        return Refused(
            cause=f"{cause}; {refused.cause}" if refused else cause,
            device=error.device if isinstance(error, DeviceError) else None,
        )

    def _overtaken(self, record: ClaimRecord) -> Refused | None:
        known = self._ledger.allocation(record.claim.uid)
        if known is None or same_devices(record.devices, known.allocation, self.driver.name):
            return None
        return Refused(
            cause=f"claim {record.claim} was allocated anew, but its former devices "
            f"({', '.join(device.device for device in record.devices)}) are {record.phase} here; "
            "unprepare it first"
        )

    def _exchanged(self, record: ClaimRecord) -> Refused | None:
        for device in record.devices:
            found = self.inventory().find(device.device)
            if found is None or found.identity != device.identity:
                now = f"is {found.identity} now" if found else "is not there"
                return Refused(
                    cause=f"device {device.device} was {device.identity} and {now}",
                    device=device.device,
                )
        return None

    async def _reach(self, point: Point, record: ClaimRecord) -> None:
        await self._tools.faults.reach(point, self.driver.name, record.claim.uid)


def _text(error: Exception) -> str:
    return str(error) or "it took too long"
