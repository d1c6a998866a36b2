"""The records of a log that one process holds: order, known ids, current epochs. No I/O."""

from collections.abc import Sequence

from dra_shared.events.subjects import EVERYTHING
from dra_shared.events.writers import EpochOpened
from dra_shared.log.protocol import Epoch, Record


class Journal:
    """Records in order, from sequence 1 on, without gaps."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._ids: dict[str, int] = {}
        self._epochs: dict[str, int] = {}

    @property
    def last(self) -> int:
        """The newest sequence, 0 if there is none."""
        return len(self._records)

    def add(self, record: Record) -> None:
        """Takes the next record."""
        if record.sequence != self.last + 1:
            message = f"record {record.sequence} cannot follow {self.last}"
            raise ValueError(message)
        self._records.append(record)
        self._ids[record.envelope.id] = record.sequence
        fact = record.envelope.fact
        if isinstance(fact, EpochOpened):
            self._epochs[fact.writer] = record.sequence

    def sequence_of(self, event_id: str) -> int | None:
        """Where the event with this id stands, if it does."""
        return self._ids.get(event_id)

    def is_current(self, epoch: Epoch) -> bool:
        """Whether no newer epoch of the same writer was opened."""
        return self._epochs.get(epoch.writer) == epoch.sequence

    def slice(
        self, after: int, size: int, until: int | None, subjects: tuple[str, ...]
    ) -> tuple[Sequence[Record], int]:
        """Up to `size` records after a sequence, those on `subjects` only, and how far it looked."""
        end = min(after + size, self.last, until if until is not None else self.last)
        wanted = self._records[after:end]
        if subjects != EVERYTHING:
            wanted = [r for r in wanted if any(matches(r.subject, s) for s in subjects)]
        return wanted, end


def matches(subject: str, pattern: str) -> bool:
    """Whether a subject fits a NATS pattern: `*` is one token, a last `>` one or more."""
    tokens, wanted = subject.split("."), pattern.split(".")
    if wanted[-1] == ">":
        wanted = wanted[:-1]
        if len(tokens) <= len(wanted):
            return False
        tokens = tokens[: len(wanted)]
    return len(tokens) == len(wanted) and all(
        want in ("*", token) for token, want in zip(tokens, wanted, strict=True)
    )
