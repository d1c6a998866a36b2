"""
Room on Python's stack for deeply nested expressions.

The parser allows 250 expressions inside one another, which takes more frames than the
interpreter's default allows. Calls between Python functions use no C stack since 3.11, so
raising the limit is safe; it is only ever raised.
"""

import sys
from typing import Final

_FRAMES_PER_LEVEL: Final = 24
_FOR_CALLERS: Final = 1_000
_SHALLOW: Final = 16


def make_room(levels: int) -> None:
    """Allow for this many levels of nesting on top of what callers may use."""
    if levels > _SHALLOW:
        needed = _FOR_CALLERS + _FRAMES_PER_LEVEL * levels
        if sys.getrecursionlimit() < needed:
            sys.setrecursionlimit(needed)
