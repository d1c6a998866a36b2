"""Opening the ledger: alone, of a known form, and whole; a damaged one is put aside, never used."""

import asyncio
import fcntl
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO, Final

import structlog
from prometheus_client import Counter

from dra_node_agent.edge.ledger import Ledger

FILE: Final = "ledger.sqlite"
VERSION: Final = 1
LOCK_POLL: Final = 0.1

DAMAGED: Final = Counter(
    "dra_node_agent_ledgers_damaged_total", "Ledgers found damaged, put aside and rebuilt"
)

_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SCHEMA: Final = """
PRAGMA user_version = {version};
CREATE TABLE claims (uid TEXT, driver TEXT, phase TEXT, record BLOB, PRIMARY KEY (uid, driver));
CREATE TABLE allocations (uid TEXT PRIMARY KEY, known BLOB);
CREATE TABLE reports (driver TEXT PRIMARY KEY, report BLOB);
CREATE TABLE outbox (counter INTEGER PRIMARY KEY, event BLOB);
CREATE TABLE position (read INTEGER, counter INTEGER);
INSERT INTO position VALUES (-1, {counter});
"""

_log = structlog.get_logger()


class LedgerFileError(Exception):
    """The ledger cannot be opened, though it is not damaged; the operator must act."""


@asynccontextmanager
async def alone(directory: Path) -> AsyncIterator[None]:
    """Holds the state directory for this process; waits for another agent to let go of it.

    In a rolling update the new agent serves already, and answers once the old one has stopped.
    Raises LedgerFileError.
    """
    with _lock_file(directory) as file:
        waiting = False
        while not _try_lock(file.fileno()):
            if not waiting:
                _log.warning("another agent holds the state directory", directory=str(directory))
            waiting = True
            await asyncio.sleep(LOCK_POLL)
        yield


def open_ledger(directory: Path, node: str, boot_id: str) -> Ledger:
    """The ledger of a state directory, a new one if there is none or it is damaged.

    Raises LedgerFileError.
    """
    path = directory / FILE
    try:
        return Ledger(_open(path), node, boot_id)
    except sqlite3.DatabaseError as error:
        if (error.sqlite_errorcode or 0) & 0xFF not in _DAMAGE:
            message = f"ledger {path} cannot be opened: {error}"
            raise LedgerFileError(message) from error
        _put_aside(path, str(error))
        return Ledger(_open(path), node, boot_id)


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, timeout=5)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        _check(database)
        _ensure_schema(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _ensure_schema(database: sqlite3.Connection, path: Path) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, VERSION):
        message = (
            f"ledger {path} has form {version}, this release knows {VERSION}; run the newer "
            "release, or move the file away: it is rebuilt from the log and the CDI directory"
        )
        raise LedgerFileError(message)
    if version == 0:
        # Numbers start at the time in milliseconds: no id of a lost ledger is ever used again.
        counter = time.time_ns() // 1_000_000
        database.executescript(f"BEGIN;{_SCHEMA.format(version=VERSION, counter=counter)}COMMIT;")


def _check(database: sqlite3.Connection) -> None:
    verdict = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        error = sqlite3.DatabaseError(verdict)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _put_aside(path: Path, why: str) -> None:
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns() // 1_000_000}")
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    DAMAGED.inc()
    _log.error(
        "the ledger is damaged: put aside, rebuilt from the log and the CDI directory",
        ledger=str(path),
        damage=why,
        put_aside_as=str(aside),
    )


def _lock_file(directory: Path) -> BinaryIO:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return (directory / "agent.lock").open("wb")
    except OSError as error:
        message = f"STATE_DIR={directory} cannot be used: {error.strerror}"
        raise LedgerFileError(message) from error


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    os.truncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return True
