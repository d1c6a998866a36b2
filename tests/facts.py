"""Builders of events for tests of the log; what they say does not matter there."""

from collections.abc import Sequence

from dra_shared.events.claims import ClaimWithdrawn, PodWithdrawn
from dra_shared.events.envelope import Envelope
from dra_shared.ids import ObjectRef
from dra_shared.log.protocol import EventLog, Record


def an_event(number: int, *, actor: str = "test", pod: bool = False) -> Envelope:
    """An event with a life of its own."""
    ref = ObjectRef("ns", f"name-{number}", f"uid-{number}")
    fact = PodWithdrawn(pod=ref) if pod else ClaimWithdrawn(claim=ref)
    return Envelope(id=f"{actor}:{number}", actor=actor, fact=fact)


async def everything(log: EventLog, after: int = 0) -> list[Record]:
    """All that stands in the log now."""
    last = await log.last_sequence()
    return [r async for batch in log.read(after=after, until=last) for r in batch]


def ids(records: Sequence[Record]) -> list[str]:
    """The ids of the events, in order."""
    return [record.envelope.id for record in records]
