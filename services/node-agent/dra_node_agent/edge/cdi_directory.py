"""The directory from which the container runtime reads CDI specs. Whole files or none.

A file is written under a name that the runtime ignores, made durable, then renamed. Only files
named after one of the agent's drivers are ever touched.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dra_node_agent.core import cdi
from dra_node_agent.core.plan import Driver
from dra_node_agent.core.record import ClaimRecord
from dra_node_agent.edge.faults import FaultPoints, Point

_TEMPORARY: Final = ".tmp"


class CdiError(Exception):
    """The CDI directory did not take a file or let go of one; the operator must look at it."""


class CdiDirectory:
    """One driver's files in the CDI directory, which is made if it is not there."""

    def __init__(self, path: Path, driver: Driver, faults: FaultPoints) -> None:
        self._path = path
        self._driver = driver
        self._faults = faults

    def start(self, node: str) -> None:
        """Clears away what an interrupted write left, and writes the driver's own spec."""
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            for path in self._path.glob(f".{cdi.file_name(self._driver, '*')}{_TEMPORARY}"):
                path.unlink(missing_ok=True)
            name = cdi.file_name(self._driver)
            content = cdi.common_spec(self._driver, node)
            if self._content(name) != content:
                self._write_temporary(name, content)
                self._rename(name)
        except OSError as error:
            raise _failed(self._path, error) from error

    async def put(self, record: ClaimRecord) -> None:
        """Makes the claim's spec durable; nothing if it is there as it should be."""
        name = cdi.file_name(self._driver, record.claim.uid)
        content = cdi.claim_spec(self._driver, record)
        try:
            if self._content(name) == content:
                return
            await self._reach(Point.CDI_WRITE, record)
            self._write_temporary(name, content)
            await self._reach(Point.CDI_RENAME, record)
            self._rename(name)
        except OSError as error:
            self._temporary(name).unlink(missing_ok=True)
            raise _failed(self._path / name, error) from error
        await self._reach(Point.CDI_WRITTEN, record)

    async def remove(self, record: ClaimRecord) -> None:
        """Makes sure that the claim's spec is gone, for good."""
        path = self._path / cdi.file_name(self._driver, record.claim.uid)
        try:
            await self._reach(Point.CDI_UNLINK, record)
            path.unlink(missing_ok=True)
            self._sync()
        except OSError as error:
            raise _failed(path, error) from error

    def claims(self) -> Iterator[tuple[str, ClaimRecord | None]]:
        """The uid of each spec file there is, and the record in it if it can be read."""
        for path in sorted(self._path.iterdir()):
            uid = cdi.uid_of(self._driver, path.name)
            if uid is not None:
                yield uid, cdi.record_in(path.read_bytes())

    async def _reach(self, point: Point, record: ClaimRecord) -> None:
        await self._faults.reach(point, self._driver.name, record.claim.uid)

    def _content(self, name: str) -> bytes | None:
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            return None

    def _temporary(self, name: str) -> Path:
        return self._path / f".{name}{_TEMPORARY}"

    def _write_temporary(self, name: str, content: bytes) -> None:
        with self._temporary(name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _rename(self, name: str) -> None:
        self._temporary(name).rename(self._path / name)
        self._sync()

    def _sync(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _failed(path: Path, error: OSError) -> CdiError:
    return CdiError(f"CDI file {path}: {error}")
