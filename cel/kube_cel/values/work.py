"""
A bound on the work that costs do not cover.

Kubernetes charges some operations less than they take: comparing nested lists, joining
lists in doubling steps, replacing nothing by something long. Each evaluation may spend a
fixed amount on these, counted the same on every machine, so that answers stay repeatable
and no selector can hold up its caller.
"""

import threading
from typing import Final

from kube_cel.errors import WorkExceededError

LIMIT: Final = 5_000_000
"""Elements looked at or copied in one evaluation; some two seconds in the worst case."""
_EACH_TIME: Final = 10
"""Getting to work takes as long as so many elements."""
CHARACTERS: Final = 16
"""Characters that count as one element."""


class _Work(threading.local):
    left = LIMIT


_work: Final = _Work()


def begin() -> None:
    """Start an evaluation of this thread with the full amount."""
    _work.left = LIMIT


def spend(elements: int) -> None:
    """Count work before it is done. Raises ``WorkExceededError`` if it is too much."""
    _work.left -= _EACH_TIME + elements
    if _work.left < 0:
        raise WorkExceededError
