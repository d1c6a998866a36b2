"""How a fact is wrapped on the wire, and how bytes become facts again.

JSON, so that a person can read the log with the stock NATS tools. Unknown fields are ignored;
a fact with an unknown tag is kept as `UnknownFact`: readers count it, writers stop at it.
"""

from typing import Any, Final

import msgspec

from dra_shared.events.allocations import AllocationFact
from dra_shared.events.claims import ClaimFact
from dra_shared.events.cluster import ClusterFact
from dra_shared.events.fact import Fact
from dra_shared.events.mirror import MirrorFact
from dra_shared.events.nodes import NodeFact
from dra_shared.events.pools import PoolFact
from dra_shared.events.upcast import upcast
from dra_shared.events.writers import WriterFact

AnyFact = NodeFact | PoolFact | ClusterFact | ClaimFact | AllocationFact | MirrorFact | WriterFact


class UnknownFact(Fact, frozen=True, kw_only=True, tag="unknown"):
    """A fact of a later release; `wire_tag` is its tag there, `raw` the fact as it came."""

    wire_tag: str
    raw: bytes


class UnreadableFact(Fact, frozen=True, kw_only=True, tag="unreadable"):
    """Bytes in the log that are no event: parked with an alert, so that all others flow on."""

    why: str
    raw: bytes


class CorruptEventError(Exception):
    """The bytes at a place in the log are no event: the operator must look at that place."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(
            f"{place} holds no readable event ({why}); "
            "look at it there, restore the log from a backup if it is damaged"
        )


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One event: the fact and how it came about.

    id: deterministic, so that a repeated append is recognised. cause: the last sequence of the
    log that the writer had applied when it decided (0: it came from outside). correlation: the
    uid of the claim or pod, or the node that it is about. actor: writer, and its epoch if it
    has one. traceparent: W3C trace context.
    """

    id: str
    cause: int = 0
    correlation: str = ""
    actor: str
    traceparent: str = ""
    fact: AnyFact | UnknownFact | UnreadableFact


class _Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    cause: int = 0
    correlation: str = ""
    actor: str
    traceparent: str = ""
    fact: msgspec.Raw


class _Tag(msgspec.Struct, frozen=True):
    tag: str


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Envelope)
_HEADER: Final = msgspec.json.Decoder(_Header)
_TAG: Final = msgspec.json.Decoder(_Tag)


def encode(envelope: Envelope) -> bytes:
    """The event as JSON. A fact of a later release keeps its bytes; what is no event is a text."""
    match envelope.fact:
        case UnknownFact(raw=raw):
            return _ENCODER.encode(_header(envelope, raw))
        case UnreadableFact(raw=raw):
            return _ENCODER.encode(raw.decode(errors="backslashreplace"))
        case _:
            return _ENCODER.encode(envelope)


def decode(data: bytes, place: str = "the event") -> Envelope:
    """The event of these bytes; raises CorruptEventError, which names `place`."""
    try:
        return _DECODER.decode(data)
    except msgspec.DecodeError as error:
        return _decode_other_release(data, place, error)


def decode_or_park(data: bytes, *place: object) -> Envelope:
    """The event of these bytes, or an UnreadableFact that keeps them; `place` in words and numbers."""
    try:
        return _DECODER.decode(data)
    except msgspec.DecodeError:
        return _decode_with_care(data, "".join(map(str, place)))


def known_tags() -> frozenset[str]:
    """All tags that this release writes and reads."""
    return frozenset(str(kind.__struct_config__.tag) for kind in fact_types())


def fact_types() -> tuple[type[Fact], ...]:
    """All fact classes, by tag."""
    kinds: tuple[type[Fact], ...] = AnyFact.__args__
    return tuple(sorted(kinds, key=lambda kind: str(kind.__struct_config__.tag)))


def _decode_with_care(data: bytes, place: str) -> Envelope:
    try:
        return decode(data, place)
    except CorruptEventError as error:
        parked = UnreadableFact(why=str(error), raw=data)
        return Envelope(id=f"unreadable:{place}", actor="unknown", fact=parked)


def _decode_other_release(data: bytes, place: str, error: msgspec.DecodeError) -> Envelope:
    try:
        header = _HEADER.decode(data)
        tag = _TAG.decode(header.fact).tag
        older = upcast(msgspec.json.decode(header.fact, type=dict[str, Any]))
        if older is not None:
            return _envelope(header, msgspec.convert(older, AnyFact))
    except msgspec.DecodeError as worse:
        raise CorruptEventError(place, str(worse)) from worse
    if tag in known_tags():
        raise CorruptEventError(place, str(error)) from error
    return _envelope(header, UnknownFact(wire_tag=tag, raw=bytes(header.fact)))


def _header(envelope: Envelope, fact: bytes) -> _Header:
    return _Header(
        id=envelope.id,
        cause=envelope.cause,
        correlation=envelope.correlation,
        actor=envelope.actor,
        traceparent=envelope.traceparent,
        fact=msgspec.Raw(fact),
    )


def _envelope(header: _Header, fact: AnyFact | UnknownFact) -> Envelope:
    return Envelope(
        id=header.id,
        cause=header.cause,
        correlation=header.correlation,
        actor=header.actor,
        traceparent=header.traceparent,
        fact=fact,
    )
