"""A record as a line of JSON: the form of log files, bug reports, and what programs are given."""

from typing import Final

import msgspec

from dra_shared.events.envelope import CorruptEventError, decode_or_park, encode
from dra_shared.log.protocol import Record


class _Line(msgspec.Struct):
    sequence: int
    time_ns: int
    subject: str
    event: msgspec.Raw


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(_Line)

BEGIN: Final = b'{"sequence":'
"""How each line begins. A file that begins otherwise is somebody else's: never cut off."""


def json_line(record: Record) -> bytes:
    """The record without a line end."""
    event = msgspec.Raw(encode(record.envelope))
    return _ENCODER.encode(_Line(record.sequence, record.time_ns, record.subject, event))


def record_of(line: bytes, sequence: int, place: str) -> Record:
    """The record of a line that should have this sequence; one whose event is damaged is parked.

    Raises CorruptEventError, which names the place, for what is no such line.
    """
    try:
        found = _DECODER.decode(line)
    except msgspec.DecodeError as error:
        raise CorruptEventError(place, str(error)) from error
    if found.sequence != sequence:
        raise CorruptEventError(place, f"it says sequence {found.sequence}")
    event = decode_or_park(bytes(found.event), place)
    return Record(found.sequence, found.time_ns, found.subject, event)
