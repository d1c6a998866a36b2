"""A temporary folder that does not outlive its owner, even one that was killed.

Each folder holds a lock its owner keeps; whoever makes a folder first removes those whose lock
is free. Nothing about Kubernetes belongs here.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

PREFIX = "dra-ledger-controlplane-"
LOCK = "owner.lock"


@contextmanager
def owned_folder() -> Iterator[Path]:
    """A fresh folder, removed at the end; also removes what killed owners left behind."""
    remove_orphans(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with lock_of(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lock_of(folder: Path) -> TextIO:
    """The owner's lock. Locked before it gets its name, so no sweep finds it free."""
    unnamed = folder / "unnamed.lock"
    lock = unnamed.open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    unnamed.rename(folder / LOCK)
    return lock


def remove_orphans(parent: Path) -> None:
    """Removes the folders below `parent` whose owner is gone."""
    for lock_file in parent.glob(f"{PREFIX}*/{LOCK}"):
        try:
            with lock_file.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, FileNotFoundError, PermissionError):
            continue  # owned, removed by its owner just now, or another user's
        shutil.rmtree(lock_file.parent, ignore_errors=True)
