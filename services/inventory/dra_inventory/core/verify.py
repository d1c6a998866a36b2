"""Derives every decision of the inventory again from a log, and says where it differs."""

from collections.abc import Iterable, Iterator

from dra_inventory.core.inventory import Inventory
from dra_shared.events.pools import PoolPublished, PoolWithdrawn
from dra_shared.events.writers import StateRecorded
from dra_shared.log.protocol import Record

WRITER = "inventory"


def verify(records: Iterable[Record]) -> Iterator[tuple[Record, str]]:
    """The facts of the inventory that its own rules do not give, each with what is wrong."""
    state = Inventory()
    waiting: list[Record] = []
    for record in records:
        waiting.append(record)
        fact = record.envelope.fact
        if isinstance(fact, PoolPublished | PoolWithdrawn):
            _apply_up_to(state, waiting, record.envelope.cause)
            if fact not in state.decide(fact.node or ""):
                yield record, f"not what follows from the log up to {record.envelope.cause}"
        elif isinstance(fact, StateRecorded) and fact.writer == WRITER:
            _apply_up_to(state, waiting, fact.upto)
            if state.state_hash() != fact.state_hash:
                yield record, f"the state at {fact.upto} has another hash"


def _apply_up_to(state: Inventory, waiting: list[Record], sequence: int) -> None:
    while waiting and waiting[0].sequence <= sequence:
        state.apply(waiting.pop(0))
