"""What one driver has on the node now, looked at again and again; changes become facts.

Devices that fit into no event are refused: the log keeps those that it knows, with their faults.
"""

import structlog

from dra_node_agent.core.inventory import Inventory
from dra_node_agent.core.report import Report, changes, only_faults, report, report_size
from dra_node_agent.edge import meters
from dra_node_agent.edge.ledger import Ledger
from dra_node_agent.edge.scanner import ScanError, Scanner
from dra_shared.events.fact import MOST_BYTES

_log = structlog.get_logger()


class Stock:
    """The devices of one driver as they were when it looked last."""

    def __init__(self, driver: str, node: str, scanner: Scanner, ledger: Ledger) -> None:
        self._driver = driver
        self._node = node
        self._scanner = scanner
        self._ledger = ledger
        self.inventory = Inventory()
        self.too_large = 0
        """Bytes of a report that is refused; 0 for one that fits."""
        self._seen = False

    async def look(self) -> None:
        """Looks at the devices; what cannot be seen now stays as it was."""
        try:
            self.inventory = await self._scanner.scan()
        except ScanError as error:
            meters.SCAN_FAILURES.labels(self._driver).inc()
            _log.error("cannot look at the devices", driver=self._driver, error=str(error))
            return
        self._seen = True
        meters.DEVICES.labels(self._driver).set(len(self.inventory.devices))
        self._weigh()

    def tell(self) -> None:
        """Writes the facts that the log lacks; the ledger must know what the log holds."""
        if not self._seen:
            return
        new = report(self.inventory)
        if self.too_large:
            known = self._ledger.report(self._driver)
            if known is None:
                return
            new = only_faults(known, new)
        write_changes(self._ledger, self._node, self._driver, new)

    def _weigh(self) -> None:
        size = report_size(self._node, self._driver, report(self.inventory))
        before, self.too_large = self.too_large, size if size > MOST_BYTES else 0
        meters.TOO_LARGE.labels(self._driver).set(bool(self.too_large))
        if self.too_large not in (0, before):
            _log.error(
                "devices not reported: they are too large for the log, "
                "offer fewer of them or shorter attributes",
                node=self._node,
                driver=self._driver,
                devices=len(self.inventory.devices),
                bytes=size,
                limit=MOST_BYTES,
            )


def write_changes(ledger: Ledger, node: str, driver: str, new: Report) -> None:
    """Makes a driver's new report durable with the facts it differs by; nothing if by none."""
    facts = changes(node, driver, ledger.report(driver), new)
    if not facts:
        return
    ledger.write_report(driver, new, *facts)
    _log.info("devices changed", driver=driver, devices=len(new.devices), facts=len(facts))
