"""One system at a time in a folder: two NATS servers on the same files would ruin the log."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FolderError(Exception):
    """The folder cannot be used; the caller must choose another one."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Makes the folder if it is not there, and keeps it for this process; raises FolderError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("wb")
    except OSError as error:
        message = f"the folder {folder} cannot be used: {error.strerror}; choose another one"
        raise FolderError(message) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another process keeps its log in {folder}: stop it, or choose another one"
            raise FolderError(message) from None
        yield
