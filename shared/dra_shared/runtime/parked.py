"""Events that this process cannot read: counted and told, so that somebody looks at them."""

from collections.abc import Iterable
from typing import Final

import structlog
from prometheus_client import Counter

from dra_shared.events.envelope import UnknownFact, UnreadableFact
from dra_shared.events.fact import Fact
from dra_shared.log.protocol import Record

PARKED: Final = Counter(
    "dra_events_parked_total",
    "Events that were passed over: of an unknown tag (a newer release) or unreadable",
    ["kind"],
)

_ODD: Final = (UnknownFact, UnreadableFact)

_log = structlog.get_logger()


class NewerReleaseError(Exception):
    """A fact of a newer release is in the log: a writer of this release must not go on."""


def count_unreadable(records: Iterable[Record]) -> None:
    """Counts and logs records that cannot be read. Raises NewerReleaseError.

    A writer must understand every fact that it decides on: one of a newer release ends it.
    """
    for record in records:
        if isinstance(record.envelope.fact, _ODD):
            _count(record, record.envelope.fact)


def _count(record: Record, fact: Fact) -> None:
    if isinstance(fact, UnreadableFact):
        PARKED.labels(kind="unreadable").inc()
        _log.error("event parked", sequence=record.sequence, subject=record.subject, why=fact.why)
    elif isinstance(fact, UnknownFact):
        PARKED.labels(kind="unknown_tag").inc()
        _log.error("unknown tag", sequence=record.sequence, tag=fact.wire_tag)
        message = (
            f"the log holds {fact.wire_tag!r} at sequence {record.sequence}, which this "
            "release does not know; run the newer release"
        )
        raise NewerReleaseError(message)
