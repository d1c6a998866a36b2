"""Whether a log holds what it promises: every decision, derived again by the cores that made it.

I1: no device is held twice, no capacity or counter beyond what there is. I2: the same log gives
the same decisions and the same state.
"""

from collections.abc import Sequence

import msgspec

from dra_allocator.core import verify as allocator
from dra_cli.core.rows import Row
from dra_cli.core.sentences import counted, instant, tag_of
from dra_inventory.core import verify as inventory
from dra_shared.events.envelope import UnknownFact, UnreadableFact
from dra_shared.log.protocol import Record


class Finding(Row, frozen=True, kw_only=True):
    """Something in the log that should not be so: where, and what."""

    sequence: int
    time: str
    tag: str
    what: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was checked, and what is wrong with it; no finding means that the invariants hold."""

    facts: int
    findings: tuple[Finding, ...]

    @property
    def line(self) -> str:
        """The verdict in a sentence."""
        if self.findings:
            return f"{self.facts} facts, {counted(len(self.findings), 'finding')}"
        return f"{self.facts} facts: no device given twice, every decision derived again"


def verdict(records: Sequence[Record], policy: str) -> Verdict:
    """The verdict on a log from its first record on; `policy` is the allocator's."""
    found = [*inventory.verify(records), *allocator.verify(records, policy), *_unread(records)]
    found.sort(key=lambda finding: finding[0].sequence)
    return Verdict(
        facts=len(records),
        findings=tuple(
            Finding(
                sequence=record.sequence,
                time=instant(record.time_ns),
                tag=tag_of(record.envelope.fact),
                what=what,
            )
            for record, what in found
        ),
    )


def _unread(records: Sequence[Record]) -> list[tuple[Record, str]]:
    """What cannot be checked, since this release cannot read it."""
    return [
        (record, "cannot be read by this release")
        for record in records
        if isinstance(record.envelope.fact, UnknownFact | UnreadableFact)
    ]
