"""Pods that are placed together or not at all: who they are, and whether all of them are there.

A group is placed once as many of its pods wait as its size says. Pods beyond its size are placed
alone. Where some have a place already (a writer ended amid a group, a pod lost its place, others
have finished), those that wait are placed together, however many they are.
"""

import msgspec

from dra_allocator.core.demand import Demand, demand_of
from dra_allocator.core.fold.registers import GroupKey, Registers


class Fellows(msgspec.Struct, frozen=True, eq=False):
    """A group's pods that wait, in the order of their decisions; `need` of them must be placed."""

    waiting: tuple[Demand, ...]
    need: int

    @property
    def is_complete(self) -> bool:
        """Whether enough pods are there."""
        return len(self.waiting) >= self.need

    @property
    def together(self) -> tuple[Demand, ...]:
        """The pods that are placed together or not at all."""
        return self.waiting[: self.need]


def fellows_of(registers: Registers, key: GroupKey) -> Fellows:
    """The pods of a group as they are now."""
    members = registers.groups.get(key, ())
    placed = sum(uid in registers.placed for uid in members)
    found = (demand_of(registers, uid) for uid in members)
    waiting = sorted((demand for demand in found if demand is not None), key=_order)
    lacking = max(0, key[1].size - placed)
    return Fellows(tuple(waiting), min(lacking, len(waiting)) if placed else lacking)


def _order(demand: Demand) -> tuple[int, int, str]:
    request = demand.pod.request
    return -request.priority, demand.pod.arrival, request.pod.uid
