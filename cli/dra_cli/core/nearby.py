"""What to say to someone who named a claim that is not there."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

NEAR: Final = 0.5
"""How alike two names must be, from 0 to 1."""


def no_such_claim(name: str, known: Iterable[str]) -> str:
    """The error's text, with names that are nearly the same, or some that are there."""
    names = sorted(known)
    if not names:
        return f"no claim {name!r}: there is no claim in this log yet"
    near = get_close_matches(name, names, n=3, cutoff=NEAR)
    if near:
        return f"no claim {name!r} in this log; did you mean {' or '.join(near)}?"
    return f"no claim {name!r} in this log; `dra get claims` shows those that there are"
