"""A snapshot: the registers at one place of the log, as bytes that tell whether they are whole.

A cache and no more: whoever cannot use one reads the log from its beginning. Nothing derived is in
it, so that a fault in an index cannot outlive a restart. No I/O: storing is the edge's business.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from dra_allocator.core.registers import (
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

V = TypeVar("V")
Named = list[tuple[str, V]]
Pooled = list[tuple[PoolKey, V]]

_LEVEL: Final = 1
"""Of compression: higher ones take seconds and save little."""


class DamagedSnapshotError(Exception):
    """The bytes are no whole snapshot; the message says what is wrong with them."""


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
    """One register in a snapshot: its name, the digest of its contents in hex, its packed size."""

    name: str
    digest: str
    size: int


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot says of itself. `parts` in the order in which they are stored.

    `whole`: BLAKE2 of all else in the head and of the contents as they are stored.
    """

    origin: Origin
    place: Place
    parts: tuple[Part, ...]
    whole: str = ""

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each register, by name."""
        return {part.name: part.digest for part in self.parts}


_CONTENTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "claims": Named[ClaimRequested],
        "pods": Named[PendingPod],
        "classes": Named[DeviceClass],
        "taint_rules": Named[DeviceTaintRule],
        "nodes": Named[NodeObserved],
        "foreign": Pooled[ForeignSlicesObserved],
        "features": Named[FeaturesObserved],
        "shown": Named[Shown],
        "write_refused": Named[WriteRefused],
        "unfit": Named[tuple[str, ...]],
        "pools": Pooled[PoolPublished],
        "lost": Named[NodeLost],
        "holdings": Named[Holding],
        "placed": Named[Placed],
        "refusals": Named[Refused],
    }
)
"""What is in each register of `Registers`; a test holds the two together."""

_ENCODER: Final = msgspec.json.Encoder()
_HEAD: Final = msgspec.json.Decoder(Head)

Mapper = Callable[[Callable[[bytes], bytes], Iterable[bytes]], Iterable[bytes]]
"""`map`, or one that works ahead."""


class Snapshot(msgspec.Struct, frozen=True):
    """A whole snapshot. Its contents are read by `fill` alone."""

    head: Head
    packed: bytes

    def to_bytes(self) -> bytes:
        """As it is stored: the head as a line of JSON, then the contents."""
        return _ENCODER.encode(self.head) + b"\n" + self.packed

    def fill(self, registers: Registers, mapper: Mapper = map) -> None:
        """Fills empty registers. Raises DamagedSnapshotError, and then they are good for nothing."""
        try:
            unpacked = mapper(zlib.decompress, self._parts())
            for part, contents in zip(self.head.parts, unpacked, strict=True):
                values = msgspec.json.decode(contents, type=_CONTENTS[part.name])
                registers.named(part.name).fill(values, int(part.digest, 16))
        except (zlib.error, msgspec.DecodeError, KeyError, ValueError) as error:
            message = f"its contents cannot be read: {error}"
            raise DamagedSnapshotError(message) from error
        registers.read_backwards()

    def _parts(self) -> Iterator[bytes]:
        start = 0
        for part in self.head.parts:
            yield self.packed[start : start + part.size]
            start += part.size


def take(registers: Registers, origin: Origin, place: Place) -> Snapshot:
    """The registers as they are now, at that place."""
    parts: list[Part] = []
    packed: list[bytes] = []
    for register in registers.each():
        packed.append(zlib.compress(_ENCODER.encode(list(register.items())), _LEVEL))
        parts.append(Part(register.name, f"{register.digest():032x}", len(packed[-1])))
    head = Head(origin=origin, place=place, parts=tuple(parts))
    contents = b"".join(packed)
    return Snapshot(msgspec.structs.replace(head, whole=_whole(head, contents)), contents)


def from_bytes(stored: bytes) -> Snapshot:
    """The snapshot that was stored so. Raises DamagedSnapshotError."""
    line, newline, packed = stored.partition(b"\n")
    try:
        head = _HEAD.decode(line)
    except msgspec.DecodeError as error:
        message = f"its head cannot be read: {error}"
        raise DamagedSnapshotError(message) from error
    if not newline or head.whole != _whole(head, packed):
        message = "its digest is not that of its contents"
        raise DamagedSnapshotError(message)
    return Snapshot(head, packed)


def digests(registers: Registers) -> dict[str, str]:
    """The digest of each register, by name."""
    return {one.name: f"{one.digest():032x}" for one in registers.each()}


def recounted(registers: Registers) -> dict[str, str]:
    """The same, worked out from every single value: what `fill` was told has no part in it."""
    return {one.name: f"{one.recount():032x}" for one in registers.each()}


def _whole(head: Head, packed: bytes) -> str:
    rest = _ENCODER.encode(msgspec.structs.replace(head, whole=""))
    return hashlib.blake2b(rest + b"\n" + packed, digest_size=16).hexdigest()
