"""The order in which fitting nodes and their devices are tried, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from dra_allocator.core.counts import Score

DEFAULT: Final = "pack"


class Policy(msgspec.Struct, frozen=True):
    """`score`: nodes with the lowest come first, equal ones by name. `smallest`: small devices first.

    Devices of equal size are taken in the order in which their driver lists them.
    """

    score: Score
    smallest: bool = False


POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        "pack": Policy(lambda free: free, smallest=True),
        "spread": Policy(lambda free: -free),
        "first-fit": Policy(lambda _: 0),
    }
)
"""`pack`: fewest free devices first, so that whole nodes stay free for large claims. `spread`: most
free devices first. `first-fit`: by name alone, for comparison with upstream."""


class UnknownPolicyError(Exception):
    """The settings, or a fact of another release, name a policy that this one does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no policy {name!r}; there are {', '.join(sorted(POLICIES))}")


def policy_of(name: str) -> Policy:
    """The policy of this name; raises UnknownPolicyError."""
    policy = POLICIES.get(name)
    if policy is None:
        raise UnknownPolicyError(name)
    return policy
