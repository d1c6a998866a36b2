"""The values of one register as a snapshot stores them: read only when somebody asks for them.

After a start most are not asked for soon, and to read them all would take longer than all the rest.
A value is known here by its place among the others; which key stands there is the register's
business.
"""

import zlib
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, Generic, TypeVar

import msgspec

V = TypeVar("V")

_LEVEL: Final = 1
"""Of compression: higher ones take seconds and save little."""

_ENCODER: Final = msgspec.json.Encoder()


class DamagedSnapshotError(Exception):
    """The bytes are no whole snapshot; the message says what is wrong with them."""


def pack(content: Any) -> bytes:
    """Anything that has a form in JSON, as it is stored."""
    return zlib.compress(_ENCODER.encode(content), _LEVEL)


def unpack(stored: bytes, kind: Any) -> Any:
    """What was packed. Raises DamagedSnapshotError."""
    try:
        return msgspec.json.decode(zlib.decompress(stored), type=kind)
    except (zlib.error, msgspec.DecodeError) as error:
        raise _damaged(error) from error


def pack_values(values: Iterable[Any]) -> tuple[list[int], bytes]:
    """How many bytes of JSON each value takes, and all of them as they are stored."""
    encoded = [_ENCODER.encode(value) for value in values]
    return [len(one) for one in encoded], pack([msgspec.Raw(one) for one in encoded])


class Packed(Generic[V]):
    """What `pack_values` made of values of a kind. Every method may raise DamagedSnapshotError."""

    def __init__(self, sizes: list[int], stored: bytes, kind: Any) -> None:
        self._sizes = sizes
        self._stored = stored
        self._kind = kind
        self._decoder: msgspec.json.Decoder[V] = msgspec.json.Decoder(kind)

    def __len__(self) -> int:
        return len(self._sizes)

    def one(self, place: int) -> V:
        """A value."""
        start = self._starts[place]
        try:
            return self._decoder.decode(self._json[start : start + self._sizes[place]])
        except msgspec.DecodeError as error:
            raise _damaged(error) from error

    def all(self) -> list[V]:
        """All values."""
        return self.parts(self._kind)

    def parts(self, kind: Any) -> list[Any]:
        """All values, read only as far as `kind` names their fields."""
        try:
            return msgspec.json.decode(self._json, type=list[kind])
        except msgspec.DecodeError as error:
            raise _damaged(error) from error

    @cached_property
    def _starts(self) -> list[int]:
        """Where each value begins; one byte parts it from the one before."""
        return list(accumulate((size + 1 for size in self._sizes), initial=1))

    @cached_property
    def _json(self) -> memoryview:
        try:
            return memoryview(zlib.decompress(self._stored, bufsize=self._starts[-1]))
        except zlib.error as error:
            raise _damaged(error) from error


def _damaged(error: Exception) -> DamagedSnapshotError:
    return DamagedSnapshotError(f"its contents cannot be read: {error}")
