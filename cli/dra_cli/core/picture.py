"""The cluster as the log tells it, for the tables of `dra get`.

The fold is that of the services' own cores; only what no service needs to know is kept here: which
claims are set up, and where.
"""

from typing import NamedTuple

from dra_allocator.core.books.cards import Cards
from dra_allocator.core.fold.evolve import evolve
from dra_allocator.core.fold.registers import Registers, state_hash
from dra_inventory.core.inventory import Inventory
from dra_shared.events.allocations import Cost
from dra_shared.events.nodes import ClaimPrepared, ClaimUnprepared
from dra_shared.ids import DeviceId, ObjectRef
from dra_shared.log.protocol import Record


class Holder(NamedTuple):
    """A claim that has a device, and what that takes of it."""

    claim: ObjectRef
    cost: Cost


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

    def same_cards(self) -> dict[DeviceId, tuple[str, ...]]:
        """Which devices of other drivers are the same card as a device."""
        cards = Cards()
        for key in {*self.registers.pools, *self.registers.foreign}:
            cards.read(self.registers, key)
        return {
            device: tuple(str(other) for other in devices if other.driver != device.driver)
            for devices in cards.twice.values()
            for device in devices
        }

    def holders(self) -> dict[DeviceId, list[Holder]]:
        """Which claims hold each device; admin access holds nothing."""
        found: dict[DeviceId, list[Holder]] = {}
        for _, holding in sorted(self.registers.holdings.items()):
            for cost in holding.costs:
                if not cost.admin:
                    found.setdefault(cost.device, []).append(Holder(holding.claim, cost))
        return found
