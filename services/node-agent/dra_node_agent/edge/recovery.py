"""What an agent does before it answers: takes up what the one before it left.

Sources, in this order: the ledger, the records in the CDI files, and, for a ledger that is new or
was damaged, the log. A spec file is removed only when the ledger knows its claim to be gone.
"""

import structlog

from dra_node_agent.core.history import History
from dra_node_agent.core.inventory import Inventory
from dra_node_agent.core.lifecycle import Phase, Step
from dra_node_agent.core.plan import plan
from dra_node_agent.core.record import ClaimRecord, PlannedDevice, Refused
from dra_node_agent.edge.cdi_directory import CdiDirectory, CdiError
from dra_node_agent.edge.ledger import Ledger
from dra_node_agent.edge.plugin import Plugin
from dra_node_agent.edge.preparation import Preparation
from dra_shared.events.nodes import ClaimPrepared

_log = structlog.get_logger()


class Recovery:
    """Brings one driver's ledger, CDI files and devices to agree."""

    def __init__(
        self, plugin: Plugin, preparation: Preparation, ledger: Ledger, cdi: CdiDirectory
    ) -> None:
        self._plugin = plugin
        self._preparation = preparation
        self._driver = preparation.driver
        self._ledger = ledger
        self._cdi = cdi

    async def from_cdi(self, boot_id: str) -> None:
        """Takes up the claims of spec files that the ledger does not know, and rebuilds the rest."""
        for uid, record in list(self._cdi.claims()):
            known = self._ledger.record(uid, self._driver.name)
            if known is not None and known.phase is Phase.GONE:
                await self._cdi.remove(known)
            elif known is None and record is not None and record.claim.uid == uid:
                self._ledger.write(record)
                _log.warning("claim taken up from its CDI file", uid=uid, claim=str(record.claim))
            elif known is None:
                _log.warning("CDI file of an unknown claim, left alone", uid=uid)
        for record in self._ledger.live(self._driver.name):
            await self._take_up(record, boot_id)

    async def from_log(self, history: History, inventory: Inventory, boot_id: str) -> None:
        """Takes up the claims that only the log knows to be prepared, and tells it of the others."""
        for (uid, driver), fact in history.prepared.items():
            if driver == self._driver.name and self._ledger.record(uid, driver) is None:
                record = self._remembered(fact, inventory)
                self._ledger.write(record)
                _log.warning("claim taken up from the log", uid=uid, phase=record.phase)
                await self._take_up(record, boot_id)
        for record in self._ledger.live(self._driver.name):
            told = (record.claim.uid, self._driver.name) in history.prepared
            if record.phase is Phase.PREPARED and not told:
                self._ledger.tell(self._preparation.prepared_fact(record))

    def sweep(self) -> None:
        """Tries again what could not be undone, and undoes what a release ended over a reboot.

        A claim that is set up in this boot is left alone: its containers may still run.
        """
        for record in self._ledger.live(self._driver.name):
            released = (
                record.phase is Phase.ACCEPTED
                and self._ledger.knows_log
                and self._ledger.allocation(record.claim.uid) is None
            )
            if released or record.phase is Phase.UNDOING:
                self._plugin.sweep(record.claim)

    async def _take_up(self, record: ClaimRecord, boot_id: str) -> None:
        if record.boot_id != boot_id:
            record = record.after(Step.REBOOT, boot_id)
            self._ledger.write(record)
        try:
            match record.phase:
                case Phase.PREPARED:
                    await self._cdi.put(record)
                case Phase.ACCEPTED:
                    await self._cdi.remove(record)
                case Phase.SETTING_UP:
                    self._plugin.resume(record.claim)
                case Phase.UNDOING:
                    self._plugin.sweep(record.claim)
                case Phase.GONE:
                    pass
        except (CdiError, OSError) as error:
            _log.error("cannot restore a CDI file", uid=record.claim.uid, error=str(error))

    def _remembered(self, fact: ClaimPrepared, inventory: Inventory) -> ClaimRecord:
        """The record of a claim whose allocation still stands is set up again, others are undone."""
        known = self._ledger.allocation(fact.claim.uid)
        devices = (
            plan(fact.claim.uid, known.allocation, self._driver, inventory)
            if known is not None
            else Refused(cause="released")
        )
        gone = isinstance(devices, Refused)
        return ClaimRecord(
            claim=fact.claim,
            driver=fact.driver,
            boot_id=fact.boot_id,
            phase=Phase.UNDOING if gone else Phase.SETTING_UP,
            devices=_devices(fact, inventory) if isinstance(devices, Refused) else devices,
        )


def _devices(fact: ClaimPrepared, inventory: Inventory) -> tuple[PlannedDevice, ...]:
    found = {device.device: inventory.find(device.device) for device in fact.devices}
    return tuple(
        PlannedDevice(
            requests=device.requests,
            pool=device.pool,
            device=device.device,
            identity=there.identity if (there := found[device.device]) else device.device,
            share_id=device.share_id,
        )
        for device in fact.devices
    )
