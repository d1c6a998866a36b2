"""Whether a log holds what it promises: every decision, derived again by the cores that made it."""

from collections.abc import Sequence

import msgspec

from dra_inventory.core import verify as inventory
from dra_shared.log.protocol import Record


class Finding(msgspec.Struct, frozen=True, order=True):
    """Something in the log that should not be so: where, and what."""

    sequence: int
    tag: str
    what: str


def verdict(records: Sequence[Record]) -> list[Finding]:
    """What is wrong with the log, in its order; nothing means that the invariants hold."""
    found = [Finding(r.sequence, r.subject, what) for r, what in inventory.verify(records)]
    return sorted(found)
