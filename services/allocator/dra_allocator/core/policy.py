"""The order in which fitting nodes and their devices are tried, and what counts as free, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from dra_allocator.core.books.counts import Score

DEFAULT: Final = "pack"
STRICT_CARDS: Final = "+strict-cards"
"""What the name of a policy ends in that holds devices of several drivers on one card for one."""


class Policy(msgspec.Struct, frozen=True):
    """`score`: nodes with the lowest come first, equal ones by name. `smallest`: small devices first.

    Devices of equal size are taken in the order in which their driver lists them. `strict_cards`:
    who holds a device holds what other drivers publish on its card (`search/twins.py`).
    """

    score: Score
    smallest: bool = False
    strict_cards: bool = False


ORDERS: Final[Mapping[str, Policy]] = {
    "pack": Policy(lambda free: free, smallest=True),
    "spread": Policy(lambda free: -free),
    "first-fit": Policy(lambda _: 0),
}
"""`pack`: fewest free devices first, so that whole nodes stay free for large claims. `spread`: most
free devices first. `first-fit`: by name alone, for comparison with upstream."""

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {**ORDERS}
    | {
        name + STRICT_CARDS: msgspec.structs.replace(order, strict_cards=True)
        for name, order in ORDERS.items()
    }
)
"""Each order alone, and with strict cards."""


class UnknownPolicyError(Exception):
    """The settings, or a fact of another release, name a policy that this one does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no policy {name!r}; there are {', '.join(sorted(POLICIES))}")


def policy_name(order: str, *, strict_cards: bool) -> str:
    """The name that decisions give to a policy."""
    return order + STRICT_CARDS if strict_cards else order


def policy_of(name: str) -> Policy:
    """The policy of this name; raises UnknownPolicyError."""
    policy = POLICIES.get(name)
    if policy is None:
        raise UnknownPolicyError(name)
    return policy
