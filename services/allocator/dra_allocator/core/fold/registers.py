"""Registers: what the facts say now, one value per key. Nothing here is derived or cached.

Each register is written by the facts of one writer only. So facts of different writers may be
applied in any order and the registers end up equal: the allocator applies its own decisions at
once, before they come back through the log. `evolve` is the only function that changes them.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from dra_allocator.core.fold.backwards import Backwards
from dra_allocator.core.fold.once import Specs
from dra_allocator.core.fold.register import MODULUS, Change, Changes, Register
from dra_shared.events.allocations import ClaimUnsatisfiable, Cost
from dra_shared.events.claims import ClaimRequested, PodGroupRef, PodRequested
from dra_shared.events.cluster import FeaturesObserved, ForeignSlicesObserved, NodeObserved
from dra_shared.events.pools import NodeLost, PoolPublished
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import AllocationResult, DeviceClass, DeviceTaintRule

PoolKey = tuple[str, str]
"""Driver and pool name; sorts as upstream orders pools."""

GroupKey = tuple[str, PodGroupRef]
"""A group of pods in its namespace."""


def group_key(request: PodRequested) -> GroupKey | None:
    """What tells the pod's group from others, None if it is in none."""
    return None if request.group is None else (request.pod.namespace, request.group)


class PendingPod(msgspec.Struct, frozen=True, gc=False):
    """A pod that wants devices, and where in the log it first asked."""

    request: PodRequested
    arrival: int


class Holding(msgspec.Struct, frozen=True, gc=False):
    """What one claim has. `cause`: the last place in the log that the decision knew."""

    claim: ObjectRef
    node: str | None
    allocation: AllocationResult
    costs: tuple[Cost, ...]
    cause: int
    adopted: bool = False


class HeldCosts(msgspec.Struct, frozen=True, gc=False):
    """The part of a Holding that says what is taken of devices."""

    costs: tuple[Cost, ...]


class Placed(msgspec.Struct, frozen=True, gc=False):
    """Where a pod was placed, and the uids of the claims it uses there."""

    node: str
    claims: tuple[str, ...]


class Shown(msgspec.Struct, frozen=True, gc=False):
    """What the API server showed last, if it is not ours: a foreign allocation, or none at all."""

    claim: ObjectRef
    sequence: int
    allocation: AllocationResult | None


class WriteRefused(msgspec.Struct, frozen=True, gc=False):
    """The API server did not take our allocation of a claim."""

    sequence: int
    status: int
    message: str


class Refused(msgspec.Struct, frozen=True, gc=False):
    """The last word on a pod that waits. `limits`: how often in a row its search hit the limit."""

    fact: ClaimUnsatisfiable
    limits: int


def _groups_of(pod: PendingPod) -> Iterator[GroupKey]:
    if (key := group_key(pod.request)) is not None:
        yield key


class Registers:
    """All that the allocator knows. Keys are uids or names; who writes what stands beside it."""

    def __init__(self) -> None:
        self.changes = Changes()
        log = self.changes
        self.specs = Specs()
        self._users: Backwards[str, str] = Backwards(lambda placed: placed.claims)
        self._groups: Backwards[GroupKey, str] = Backwards(_groups_of)
        # the API bridge
        self.claims: Register[str, ClaimRequested] = Register("claims", log)
        self.pods: Register[str, PendingPod] = Register("pods", log, self._groups)
        self.classes: Register[str, DeviceClass] = Register("classes", log)
        self.taint_rules: Register[str, DeviceTaintRule] = Register("taint_rules", log)
        self.nodes: Register[str, NodeObserved] = Register("nodes", log)
        self.foreign: Register[PoolKey, ForeignSlicesObserved] = Register("foreign", log)
        self.features: Register[str, FeaturesObserved] = Register("features", log)
        self.shown: Register[str, Shown] = Register("shown", log)
        self.write_refused: Register[str, WriteRefused] = Register("write_refused", log)
        self.unfit: Register[str, tuple[str, ...]] = Register("unfit", log)
        # the inventory
        self.pools: Register[PoolKey, PoolPublished] = Register("pools", log)
        self.lost: Register[str, NodeLost] = Register("lost", log)
        # the allocator
        self.holdings: Register[str, Holding] = Register("holdings", log)
        self.placed: Register[str, Placed] = Register("placed", log, self._users)
        self.refusals: Register[str, Refused] = Register("refusals", log)

    @property
    def users(self) -> Mapping[str, AbstractSet[str]]:
        """Pods placed with a claim, by claim uid."""
        return self._users.read(self.placed.items)

    @property
    def groups(self) -> Mapping[GroupKey, AbstractSet[str]]:
        """Pods of a group."""
        return self._groups.read(self.pods.items)

    def take_changes(self) -> list[Change]:
        """What changed since this was last asked."""
        changes = self.changes.copy()
        self.changes.clear()
        return changes

    def named(self, name: str) -> Register[Any, Any]:
        """The register of that name. Raises KeyError."""
        return {register.name: register for register in self.each()}[name]

    def each(self) -> tuple[Register[Any, Any], ...]:
        """All registers."""
        return tuple(r for r in vars(self).values() if isinstance(r, Register))


def state_hash(registers: Registers) -> str:
    """The canonical digest of all registers, 32 hex digits; caches and indices have no part in it."""
    whole = sum(register.digest() for register in registers.each()) % MODULUS
    return f"{whole:032x}"
