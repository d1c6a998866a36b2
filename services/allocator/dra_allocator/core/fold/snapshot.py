"""A snapshot: the registers at one place of the log, as bytes that tell whether they are whole.

A cache and no more: whoever cannot use one reads the log from its beginning. Nothing derived is in
it, so that a fault in an index cannot outlive a restart. No I/O: storing is the edge's business.
"""

import hashlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dra_allocator.core.fold.packed import DamagedSnapshotError, Packed, pack, pack_values, unpack
from dra_allocator.core.fold.registers import (
    Holding,
    PendingPod,
    Placed,
    PoolKey,
    Refused,
    Registers,
    Shown,
    WriteRefused,
)
from dra_shared.events.claims import ClaimRequested
from dra_shared.events.cluster import FeaturesObserved, ForeignSlicesObserved, NodeObserved
from dra_shared.events.pools import NodeLost, PoolPublished
from dra_shared.kube.claims import DeviceClass, DeviceTaintRule

Named = tuple[list[str], list[int]]
Pooled = tuple[list[PoolKey], list[int]]
"""Keys, and how many bytes the value of each takes."""


class OtherReleaseError(Exception):
    """The bytes are whole, but of a release that makes snapshots in another way."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot is only good for: one log, and one release's way to fold it."""

    stream: str
    reducer: str


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The newest record in a snapshot. Another log may have as many records, but not this one."""

    sequence: int
    time_ns: int
    id: str


class Part(msgspec.Struct, frozen=True):
    """One register in a snapshot: its name, the digest of its contents in hex, its two packed pieces.

    The index says which keys there are and how long the value of each is, so that values can be
    read one by one.
    """

    name: str
    digest: str
    index_size: int
    values_size: int


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot says of itself. `parts` in the order in which they are stored."""

    origin: Origin
    place: Place
    parts: tuple[Part, ...]

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each register, by name."""
        return {part.name: part.digest for part in self.parts}


_CONTENTS: Final[Mapping[str, tuple[Any, Any]]] = MappingProxyType(
    {
        "claims": (Named, ClaimRequested),
        "pods": (Named, PendingPod),
        "classes": (Named, DeviceClass),
        "taint_rules": (Named, DeviceTaintRule),
        "nodes": (Named, NodeObserved),
        "foreign": (Pooled, ForeignSlicesObserved),
        "features": (Named, FeaturesObserved),
        "shown": (Named, Shown),
        "write_refused": (Named, WriteRefused),
        "unfit": (Named, tuple[str, ...]),
        "pools": (Pooled, PoolPublished),
        "lost": (Named, NodeLost),
        "holdings": (Named, Holding),
        "placed": (Named, Placed),
        "refusals": (Named, Refused),
    }
)
"""The index and the values of each register of `Registers`; a test holds the two together."""

_ENCODER: Final = msgspec.json.Encoder()
_HEAD: Final = msgspec.json.Decoder(Head)
_NEWLINE: Final = b"\n"
_DIGEST_SIZE: Final = 64


class Snapshot(msgspec.Struct, frozen=True):
    """A whole snapshot. Its contents are read by `fill` alone."""

    head: Head
    packed: bytes

    def to_bytes(self) -> bytes:
        """As it is stored: a digest of all the rest, the head as a line of JSON, the contents."""
        rest = _ENCODER.encode(self.head) + _NEWLINE + self.packed
        return _digest(rest) + rest

    def fill(self, registers: Registers) -> None:
        """Fills empty registers. Raises DamagedSnapshotError, and then they are good for nothing.

        Values stay packed until somebody asks for them. `from_bytes` saw that they are what was
        stored, and whoever stored them read them back before.
        """
        try:
            for part, index, values in self._pieces():
                kind, value = _CONTENTS[part.name]
                keys, sizes = unpack(index, kind)
                packed: Packed[Any] = Packed(sizes, values, value)
                registers.named(part.name).fill(keys, packed, int(part.digest, 16))
        except (KeyError, ValueError) as error:
            message = f"its contents cannot be read: {error}"
            raise DamagedSnapshotError(message) from error

    def _pieces(self) -> Iterator[tuple[Part, bytes, bytes]]:
        start = 0
        for part in self.head.parts:
            middle = start + part.index_size
            end = middle + part.values_size
            yield part, self.packed[start:middle], self.packed[middle:end]
            start = end


def take(registers: Registers, origin: Origin, place: Place) -> Snapshot:
    """The registers as they are now, at that place."""
    parts: list[Part] = []
    pieces: list[bytes] = []
    for register in registers.each():
        sizes, values = pack_values(value for _, value in register.items())
        index = pack((list(register), sizes))
        parts.append(Part(register.name, f"{register.digest():032x}", len(index), len(values)))
        pieces += index, values
    return Snapshot(Head(origin=origin, place=place, parts=tuple(parts)), b"".join(pieces))


def from_bytes(stored: bytes) -> Snapshot:
    """The snapshot that was stored so. Raises DamagedSnapshotError and OtherReleaseError."""
    if stored[:_DIGEST_SIZE] != _digest(memoryview(stored)[_DIGEST_SIZE:]):
        message = "its digest is not that of its contents"
        raise DamagedSnapshotError(message)
    end = stored.index(_NEWLINE)
    try:
        return Snapshot(_HEAD.decode(stored[_DIGEST_SIZE:end]), stored[end + 1 :])
    except msgspec.DecodeError as error:
        message = f"its head cannot be read: {error}"
        raise OtherReleaseError(message) from error


def digests(registers: Registers) -> dict[str, str]:
    """The digest of each register, by name."""
    return {one.name: f"{one.digest():032x}" for one in registers.each()}


def recounted(registers: Registers) -> dict[str, str]:
    """The same, worked out from every single value: what `fill` was told has no part in it."""
    return {one.name: f"{one.recount():032x}" for one in registers.each()}


def _digest(rest: bytes | memoryview) -> bytes:
    """SHA-256: processors have instructions for it, which makes it twice as fast as others."""
    return hashlib.sha256(rest).hexdigest().encode()
