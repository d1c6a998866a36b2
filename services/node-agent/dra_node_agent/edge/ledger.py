"""The agent's memory: one SQLite file with claims, allocations, reports and facts to be sent.

What a transaction wrote is on disk when it returns (WAL, synchronous FULL). A fact is written in
the same transaction as the change that it tells of, and leaves the outbox once the log has it.
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from dra_node_agent.core.history import KnownAllocation, Released, lessons
from dra_node_agent.core.lifecycle import Phase
from dra_node_agent.core.record import ClaimRecord
from dra_node_agent.core.report import Report
from dra_shared.events.envelope import Envelope, decode, encode
from dra_shared.events.nodes import ClaimPrepared, ClaimPrepareFailed, ClaimUnprepared, NodeFact
from dra_shared.log.protocol import Record


class LedgerError(Exception):
    """The ledger cannot be read or written (a full disk?); the operator must look at it."""


class Ledger:
    """One open ledger. `grown` is set whenever there may be something to send.

    `remembered`: so many claims that are gone are, as proof that a spec file of theirs may go.
    """

    def __init__(self, database: sqlite3.Connection, node: str, boot_id: str) -> None:
        self._database = database
        self._node = node
        self._boot_id = boot_id
        self.grown = asyncio.Event()
        self.remembered = 1000

    def record(self, uid: str, driver: str) -> ClaimRecord | None:
        """What is held about a claim at a driver."""
        rows = self._rows("SELECT record FROM claims WHERE uid = ? AND driver = ?", uid, driver)
        return next((_RECORD.decode(row[0]) for row in rows), None)

    def live(self, driver: str) -> tuple[ClaimRecord, ...]:
        """All claims of a driver that hold devices, oldest change first."""
        rows = self._rows(
            "SELECT record FROM claims WHERE driver = ? AND phase != ? ORDER BY rowid",
            driver,
            Phase.GONE,
        )
        return tuple(_RECORD.decode(row[0]) for row in rows)

    def phases(self, driver: str) -> dict[Phase, int]:
        """How many of a driver's claims are in each phase that holds devices."""
        rows = self._rows(
            "SELECT phase, COUNT(*) FROM claims WHERE driver = ? GROUP BY phase", driver
        )
        counts = {Phase(str(phase)): int(count) for phase, count in rows}
        return {phase: counts.get(phase, 0) for phase in Phase if phase is not Phase.GONE}

    def write(self, record: ClaimRecord, *facts: NodeFact) -> None:
        """Makes a claim's step durable, and the facts that tell of it."""
        with self._transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO claims (uid, driver, phase, record) VALUES (?, ?, ?, ?)",
                (record.claim.uid, record.driver, record.phase, msgspec.json.encode(record)),
            )
            self._enqueue(facts)
            if record.phase is Phase.GONE:
                self._database.execute(
                    "DELETE FROM claims WHERE phase = ? AND rowid NOT IN (SELECT rowid FROM claims"
                    " WHERE phase = ? ORDER BY rowid DESC LIMIT ?)",
                    (Phase.GONE, Phase.GONE, self.remembered),
                )

    def tell(self, *facts: NodeFact) -> None:
        """Makes facts durable that change nothing here."""
        with self._transaction():
            self._enqueue(facts)

    def allocation(self, uid: str) -> KnownAllocation | None:
        """What the log said last that a claim was given; None when that was taken back."""
        rows = self._rows("SELECT known FROM allocations WHERE uid = ?", uid)
        return next((_ALLOCATION.decode(row[0]) for row in rows), None)

    def learn(self, batch: Sequence[Record]) -> None:
        """Takes in what the log says about claims, and how far it was read."""
        with self._transaction():
            for entry in batch:
                for lesson in lessons(entry.envelope.fact):
                    self._learn(lesson)
            self._database.execute("UPDATE position SET read = ?", (batch[-1].sequence,))

    def read_to(self, sequence: int) -> None:
        """Notes that the log was read up to there, whatever was in it."""
        with self._transaction():
            self._database.execute("UPDATE position SET read = ?", (sequence,))

    @property
    def position(self) -> int:
        """The sequence up to which the log was read."""
        return max(0, self._read())

    @property
    def knows_log(self) -> bool:
        """Whether all that the log said about this node was read once."""
        return self._read() >= 0

    def report(self, driver: str) -> Report | None:
        """What the log holds, or will hold, about a driver's devices."""
        rows = self._rows("SELECT report FROM reports WHERE driver = ?", driver)
        return next((_REPORT.decode(row[0]) for row in rows), None)

    def reported(self) -> tuple[str, ...]:
        """The drivers that the log holds, or will hold, devices of."""
        return tuple(str(row[0]) for row in self._rows("SELECT driver FROM reports"))

    def write_report(self, driver: str, report: Report, *facts: NodeFact) -> None:
        """Makes a report durable, and the facts that it differs by from the one before."""
        with self._transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO reports (driver, report) VALUES (?, ?)",
                (driver, msgspec.json.encode(report)),
            )
            self._enqueue(facts)

    def outbox(self, limit: int) -> tuple[tuple[int, Envelope], ...]:
        """The oldest facts that the log may not have yet, with their numbers."""
        rows = self._rows("SELECT counter, event FROM outbox ORDER BY counter LIMIT ?", limit)
        return tuple((row[0], decode(row[1], "the outbox")) for row in rows)

    def sent(self, counter: int) -> None:
        """Forgets all facts up to this number: the log has them."""
        with self._transaction():
            self._database.execute("DELETE FROM outbox WHERE counter <= ?", (counter,))

    def leave_out(self, counter: int) -> None:
        """Forgets one fact: the log will never take it."""
        with self._transaction():
            self._database.execute("DELETE FROM outbox WHERE counter = ?", (counter,))

    def waiting(self) -> int:
        """How many facts the outbox holds."""
        return int(self._rows("SELECT COUNT(*) FROM outbox")[0][0])

    def close(self) -> None:
        """Lets go of the file."""
        self._database.close()

    def _read(self) -> int:
        return int(self._rows("SELECT read FROM position")[0][0])

    def _learn(self, lesson: KnownAllocation | Released) -> None:
        match lesson:
            case KnownAllocation(claim=claim):
                self._database.execute(
                    "INSERT OR REPLACE INTO allocations (uid, known) VALUES (?, ?)",
                    (claim.uid, msgspec.json.encode(lesson)),
                )
            case Released(uid=uid):
                self._database.execute("DELETE FROM allocations WHERE uid = ?", (uid,))

    def _enqueue(self, facts: Iterable[NodeFact]) -> None:
        for fact in facts:
            (counter, position), *_ = self._database.execute(
                "UPDATE position SET counter = counter + 1 RETURNING counter, max(read, 0)"
            ).fetchall()
            event = Envelope(
                id=f"{self._node}:{self._boot_id}:{counter}",
                cause=position,
                correlation=_about(fact),
                actor=f"node-agent/{self._node}",
                fact=fact,
            )
            self._database.execute("INSERT INTO outbox VALUES (?, ?)", (counter, encode(event)))
            self.grown.set()

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise LedgerError(str(error)) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.Error as error:
            raise LedgerError(str(error)) from error


_RECORD: Final = msgspec.json.Decoder(ClaimRecord)
_ALLOCATION: Final = msgspec.json.Decoder(KnownAllocation)
_REPORT: Final = msgspec.json.Decoder(Report)


def _about(fact: NodeFact) -> str:
    if isinstance(fact, ClaimPrepared | ClaimPrepareFailed | ClaimUnprepared):
        return fact.claim.uid
    return fact.node
