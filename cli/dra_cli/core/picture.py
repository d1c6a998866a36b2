"""The cluster as the log tells it, for the tables of `dra get`.

The fold is that of the services' own cores; only what no service needs to know is kept here: which
claims are set up, and where.
"""

from dra_allocator.core.evolve import evolve
from dra_allocator.core.registers import Registers, state_hash
from dra_inventory.core.inventory import Inventory
from dra_shared.events.nodes import ClaimPrepared, ClaimUnprepared
from dra_shared.ids import DeviceId
from dra_shared.log.protocol import Record


class Picture:
    """What all records so far add up to."""

    def __init__(self) -> None:
        self.registers = Registers()
        self.inventory = Inventory()
        self.sequence = 0
        self.prepared: set[tuple[str, str]] = set()
        """Claim uids with the node on which they are set up."""

    def apply(self, record: Record) -> None:
        """Takes in one record, in log order."""
        self.sequence = record.sequence
        self.inventory.apply(record)
        evolve(self.registers, record.envelope, record.sequence)
        self.registers.changes.clear()
        match record.envelope.fact:
            case ClaimPrepared(claim=claim, node=node):
                self.prepared.add((claim.uid, node))
            case ClaimUnprepared(claim=claim, node=node):
                self.prepared.discard((claim.uid, node))
            case _:
                pass

    @property
    def allocator_hash(self) -> str:
        """The hash that the allocator's state has here."""
        return state_hash(self.registers)

    @property
    def inventory_hash(self) -> str:
        """The hash that the inventory's state has here."""
        return self.inventory.state_hash()

    def holders(self) -> dict[DeviceId, list[str]]:
        """Which claims hold each device; admin access holds nothing."""
        found: dict[DeviceId, list[str]] = {}
        for _, holding in sorted(self.registers.holdings.items()):
            for cost in holding.costs:
                if not cost.admin:
                    found.setdefault(cost.device, []).append(str(holding.claim))
        return found
