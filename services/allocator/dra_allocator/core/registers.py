"""Registers: what the facts say now, one value per key. Nothing here is derived or cached.

Each register is written by the facts of one writer only. So facts of different writers may be
applied in any order and the registers end up equal: the allocator applies its own decisions at
once, before they come back through the log. `evolve` is the only function that changes them.
"""

import hashlib
from collections.abc import Hashable, ItemsView, Iterable, Iterator
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

import msgspec

from dra_shared.events.allocations import ClaimUnsatisfiable, Cost
from dra_shared.events.claims import ClaimRequested, PodGroupRef, PodRequested
from dra_shared.events.cluster import FeaturesObserved, ForeignSlicesObserved, NodeObserved
from dra_shared.events.pools import NodeLost, PoolPublished
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import AllocationResult, DeviceClass, DeviceTaintRule

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

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


class Change(msgspec.Struct, frozen=True, gc=False):
    """One register's value for one key before and after a fact; None where there is none."""

    register: str
    key: Any
    old: Any
    new: Any


_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_MODULUS: Final = 2**128


class Register(Generic[K, V]):
    """Values by key, with a digest that costs only what changed since it was last asked for."""

    def __init__(self, name: str, changes: list[Change]) -> None:
        self.name = name
        self._changes = changes
        self._values: dict[K, V] = {}
        self.view = MappingProxyType(self._values)
        """The values for those who may only read."""
        self._sum = 0
        self._uncounted: dict[K, V | None] = {}
        """Keys that changed, each with the value that the sum still counts."""

    def put(self, key: K, value: V) -> None:
        """Sets the value and notes the change; an equal value changes nothing."""
        old = self._values.get(key)
        if old != value:
            self._values[key] = value
            self._note(key, old, value)

    def drop(self, key: K) -> None:
        """Forgets the key, if it is there."""
        old = self._values.pop(key, None)
        if old is not None:
            self._note(key, old, None)

    def get(self, key: K) -> V | None:
        """The value, or None."""
        return self._values.get(key)

    def items(self) -> ItemsView[K, V]:
        """All keys and values, in no order that means anything."""
        return self._values.items()

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def fill(self, values: Iterable[tuple[K, V]], digest: int) -> None:
        """Fills an empty register with contents whose digest is known; no changes are noted."""
        self._values.update(values)
        self._sum = digest

    def digest(self) -> int:
        """A number that depends on the contents alone: equal contents, equal digest."""
        for key, old in self._uncounted.items():
            self._sum += self._hash(key, self._values.get(key)) - self._hash(key, old)
        self._uncounted.clear()
        self._sum %= _MODULUS
        return self._sum

    def recount(self) -> int:
        """The same digest, worked out from every single value."""
        return sum(self._hash(key, value) for key, value in self._values.items()) % _MODULUS

    def _note(self, key: K, old: V | None, new: V | None) -> None:
        if new is None and self._uncounted.get(key, old) is None:
            del self._uncounted[key]
        else:
            self._uncounted.setdefault(key, old)
        self._changes.append(Change(self.name, key, old, new))

    def _hash(self, key: K, value: V | None) -> int:
        if value is None:
            return 0
        entry = _ENCODER.encode((self.name, key, value))
        return int.from_bytes(hashlib.blake2b(entry, digest_size=16).digest(), "big")


class Registers:
    """All that the allocator knows. Keys are uids or names; who writes what stands beside it."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        log = self.changes
        # the API bridge
        self.claims: Register[str, ClaimRequested] = Register("claims", log)
        self.pods: Register[str, PendingPod] = Register("pods", log)
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
        self.placed: Register[str, Placed] = Register("placed", log)
        self.refusals: Register[str, Refused] = Register("refusals", log)
        self.users: dict[str, set[str]] = {}
        """Pods placed with a claim, by claim uid: `placed` read the other way round."""
        self.groups: dict[GroupKey, set[str]] = {}
        """Pods of a group: `pods` read the other way round."""

    def read_backwards(self) -> None:
        """Works `users` and `groups` out from the registers that they read."""
        for pod_uid, placed in self.placed.items():
            for claim_uid in placed.claims:
                self.users.setdefault(claim_uid, set()).add(pod_uid)
        for pod_uid, pod in self.pods.items():
            if (key := group_key(pod.request)) is not None:
                self.groups.setdefault(key, set()).add(pod_uid)

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
    whole = sum(register.digest() for register in registers.each()) % _MODULUS
    return f"{whole:032x}"
