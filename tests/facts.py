"""What tests of the log and of those who read it need: events to write, and what stands there."""

from collections.abc import Sequence
from typing import TypeVar

from dra_shared.events.claims import ClaimWithdrawn, PodWithdrawn
from dra_shared.events.envelope import AnyFact, Envelope, UnknownFact
from dra_shared.ids import ObjectRef
from dra_shared.log.protocol import EventLog, Record

F = TypeVar("F")


def an_event(number: int, *, actor: str = "test", pod: bool = False) -> Envelope:
    """An event with a life of its own, when it does not matter what it says."""
    ref = ObjectRef("ns", f"name-{number}", f"uid-{number}")
    fact = PodWithdrawn(pod=ref) if pod else ClaimWithdrawn(claim=ref)
    return Envelope(id=f"{actor}:{number}", actor=actor, fact=fact)


async def tell(log: EventLog, *facts: AnyFact | UnknownFact) -> None:
    """These facts happen now."""
    last = await log.last_sequence()
    await log.commit(
        [Envelope(id=f"test:{last}:{n}", actor="test", fact=f) for n, f in enumerate(facts)]
    )


async def everything(log: EventLog, after: int = 0) -> list[Record]:
    """All that stands in the log now."""
    last = await log.last_sequence()
    return [r async for batch in log.read(after=after, until=last) for r in batch]


async def found(log: EventLog, kind: type[F], count: int = 1) -> list[F]:
    """The facts of a kind that stand in the log now; nothing as long as there are fewer."""
    facts: list[object] = [record.envelope.fact for record in await everything(log)]
    of_kind = [fact for fact in facts if isinstance(fact, kind)]
    return of_kind if len(of_kind) >= count else []


def ids(records: Sequence[Record]) -> list[str]:
    """The ids of the events, in order."""
    return [record.envelope.id for record in records]
