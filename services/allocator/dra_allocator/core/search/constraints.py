"""Constraints between the devices of a claim (KEP-4381, KEP-5075 distinctAttribute, KEP-5491 lists).

A constraint's state is the values it has seen so far; states are immutable, so that a search can
go back by keeping the old one.
"""

import msgspec

from dra_allocator.core.search.attributes import UNREADABLE, Values
from dra_shared.kube.claims import DeviceConstraint

State = Values | None
"""None as long as no device counts."""


class Constraint(msgspec.Struct, frozen=True, kw_only=True):
    """One constraint of a claim. Without `requests` it holds for all of them."""

    attribute: str
    distinct: bool
    requests: frozenset[str]

    def concerns(self, request: str, alternative: str) -> bool:
        """Say whether it holds for devices of this request, chosen by this alternative of it."""
        return not self.requests or request in self.requests or alternative in self.requests

    def admit(self, state: State, values: Values | None, *, lists: bool) -> State:
        """Give the state with one more device; None if the device must not be added.

        `values` is None where the device lacks the attribute. Without the gate for lists, a first
        device may have an attribute that cannot be read, but then no other goes with it.
        """
        if values is None or (lists and values == UNREADABLE):
            return None
        if state is None:
            return values
        if state >= UNREADABLE:
            return None
        if self.distinct:
            return None if state & values else state | values
        return (state & values) or None


def read_constraint(constraint: DeviceConstraint) -> Constraint | None:
    """Give a claim's constraint; None if it is of a kind that we do not know."""
    attribute = constraint.match_attribute or constraint.distinct_attribute
    if attribute is None:
        return None
    return Constraint(
        attribute=attribute,
        distinct=constraint.match_attribute is None,
        requests=frozenset(constraint.requests or ()),
    )
