"""The order in which fitting nodes are tried, by name. Small pure functions of free counts.

What a policy says about devices inside a node is nothing yet: they are taken in the order in which
their driver lists them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dra_allocator.core.counts import Score

DEFAULT: Final = "pack"

POLICIES: Final[Mapping[str, Score]] = MappingProxyType(
    {
        "pack": lambda free: free,
        "spread": lambda free: -free,
        "first-fit": lambda _: 0,
    }
)
"""`pack`: fewest free devices first, so that whole nodes stay free for large claims. `spread`: most
free devices first. `first-fit`: by name alone, for comparison with upstream."""


class UnknownPolicyError(Exception):
    """The settings, or a fact of another release, name a policy that this one does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no policy {name!r}; there are {', '.join(sorted(POLICIES))}")


def score_of(policy: str) -> Score:
    """The policy's score; raises UnknownPolicyError."""
    score = POLICIES.get(policy)
    if score is None:
        raise UnknownPolicyError(policy)
    return score
