"""One register: values by key, what changed in them, and a digest of them. Knows no fact."""

import hashlib
from collections.abc import Callable, Hashable, ItemsView, Iterable, Iterator, KeysView, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from dra_allocator.core.fold.backwards import Backwards
from dra_allocator.core.fold.packed import Packed

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
P = TypeVar("P")


class Change(msgspec.Struct, frozen=True, gc=False):
    """One register's value for one key before and after a fact; None where there is none."""

    register: str
    key: Any
    old: Any
    new: Any


class Changes(list[Change]):
    """What changed, in order; nothing is noted while nobody listens."""

    heard = True


_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
MODULUS: Final = 2**128
"""Digests are counted modulo this."""


class Register(Generic[K, V]):
    """Values by key, with a digest that costs only what changed since it was last asked for.

    A value that is packed stands there as its place in `_packed` until it is asked for.
    """

    def __init__(
        self, name: str, changes: Changes, backwards: Backwards[Any, K] | None = None
    ) -> None:
        self.name = name
        self._changes = changes
        self._backwards = backwards
        self._values: dict[K, V | int] = {}
        self._packed: Packed[V] | None = None
        self.get: Callable[[K], V | None] = cast("dict[K, V]", self._values).get
        """The value, or None. Nothing is asked for more often: it is the dictionary's own."""
        self._sum = 0
        self._uncounted: dict[K, V | None] | None = None
        """Keys that changed, each with the value that the sum still counts; None: it counts nothing."""

    def put(self, key: K, value: V) -> None:
        """Sets the value and notes the change; an equal value changes nothing."""
        old = self.get(key)
        if old is None or old != value:
            self._values[key] = value
            self._note(key, old, value)

    def drop(self, key: K) -> None:
        """Forgets the key, if it is there."""
        old = self.get(key)
        if old is not None:
            del self._values[key]
            self._note(key, old, None)

    def _get(self, key: K) -> V | None:
        value = self._values.get(key)
        return self._unpack(key, value) if isinstance(value, int) else value

    @property
    def view(self) -> Mapping[K, V]:
        """The values for those who may only read, and see what changes."""
        return MappingProxyType(self._all())

    def keys(self) -> KeysView[K]:
        """All keys, which can be reckoned with as with a set."""
        return self._values.keys()

    def items(self) -> ItemsView[K, V]:
        """All keys and values, in no order that means anything."""
        return self._all().items()

    def parts(self, kind: type[P]) -> Iterator[V | P]:
        """The values of now, whenever they are taken; of packed ones only what `kind` names."""
        packed, values = self._packed, tuple(self._values.values())
        if packed is None:
            return iter(cast("tuple[V, ...]", values))
        return _with_parts(values, packed, kind)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def fill(self, keys: Iterable[K], values: Packed[V], digest: int) -> None:
        """Fills an empty register with contents whose digest is known; no changes are noted."""
        self._values.update(zip(keys, range(len(values)), strict=True))
        self._packed = values
        self.get = self._get
        self._sum, self._uncounted = digest, {}

    def digest(self) -> int:
        """A number that depends on the contents alone: equal contents, equal digest."""
        if self._uncounted is None:
            self._sum, self._uncounted = self.recount(), {}
        for key, old in self._uncounted.items():
            self._sum += self._hash(key, self.get(key)) - self._hash(key, old)
        self._uncounted.clear()
        self._sum %= MODULUS
        return self._sum

    def recount(self) -> int:
        """The same digest, worked out from every single value."""
        return sum(self._hash(key, value) for key, value in self.items()) % MODULUS

    def _all(self) -> dict[K, V]:
        """The values, none of them packed any more."""
        if self._packed is not None:
            packed = self._packed.all()
            for key, value in self._values.items():
                if isinstance(value, int):
                    self._values[key] = packed[value]
            self._packed = None
            self.get = cast("dict[K, V]", self._values).get
        return cast("dict[K, V]", self._values)

    def _unpack(self, key: K, place: int) -> V:
        assert self._packed is not None
        value = self._values[key] = self._packed.one(place)
        return value

    def _note(self, key: K, old: V | None, new: V | None) -> None:
        if self._uncounted is not None:
            if new is None and self._uncounted.get(key, old) is None:
                del self._uncounted[key]
            else:
                self._uncounted.setdefault(key, old)
        if self._backwards is not None:
            self._backwards.note(key, old, new)
        if self._changes.heard:
            self._changes.append(Change(self.name, key, old, new))

    def _hash(self, key: K, value: V | None) -> int:
        if value is None:
            return 0
        entry = _ENCODER.encode((self.name, key, value))
        return int.from_bytes(hashlib.blake2b(entry, digest_size=16).digest(), "big")


def _with_parts(values: Iterable[V | int], packed: Packed[V], kind: type[P]) -> Iterator[V | P]:
    parts: list[P] = packed.parts(kind)
    for value in values:
        yield parts[value] if isinstance(value, int) else value
