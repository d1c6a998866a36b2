"""A record as a line of JSON, in the form that a log file has: for bug reports and programs."""

from typing import Final

import msgspec

from dra_shared.events.envelope import Envelope, UnknownFact, UnreadableFact, encode
from dra_shared.log.protocol import Record

_ENCODER: Final = msgspec.json.Encoder()


class _Line(msgspec.Struct):
    sequence: int
    time_ns: int
    subject: str
    event: msgspec.Raw


class _Foreign(msgspec.Struct, omit_defaults=True):
    id: str
    actor: str
    fact: msgspec.Raw
    cause: int = 0
    correlation: str = ""
    traceparent: str = ""


def json_line(record: Record) -> bytes:
    """The record without a line end. What this release cannot read keeps its own bytes."""
    event = msgspec.Raw(_event(record.envelope))
    return _ENCODER.encode(_Line(record.sequence, record.time_ns, record.subject, event))


def _event(envelope: Envelope) -> bytes:
    match envelope.fact:
        case UnknownFact(raw=raw):
            foreign = _Foreign(
                id=envelope.id,
                actor=envelope.actor,
                fact=msgspec.Raw(raw),
                cause=envelope.cause,
                correlation=envelope.correlation,
                traceparent=envelope.traceparent,
            )
            return _ENCODER.encode(foreign)
        case UnreadableFact(raw=raw):
            return _ENCODER.encode(raw.decode(errors="backslashreplace"))
        case _:
            return encode(envelope)
