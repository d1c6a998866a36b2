"""What goes into the log comes out of it, also when another release wrote it."""

import msgspec
import pytest

from dra_shared.events.claims import ClaimWithdrawn
from dra_shared.events.envelope import (
    CorruptEventError,
    Envelope,
    UnknownFact,
    decode,
    encode,
    fact_types,
    known_tags,
)
from dra_shared.events.upcast import upcast
from dra_shared.ids import ObjectRef

WITHDRAWN = Envelope(
    id="bridge:1:0",
    actor="api-bridge@3",
    fact=ClaimWithdrawn(claim=ObjectRef("ns", "c", "uid-1")),
)


def test_an_event_survives_the_wire() -> None:
    assert decode(encode(WITHDRAWN)) == WITHDRAWN


def test_tags_are_unique_versioned_and_never_class_names() -> None:
    tags = [str(kind.__struct_config__.tag) for kind in fact_types()]
    assert len(set(tags)) == len(tags) == len(known_tags())
    assert all(tag.rsplit(".", 1)[1].startswith("v") and tag.islower() for tag in tags)


def test_unknown_fields_are_ignored() -> None:
    wire = msgspec.json.decode(encode(WITHDRAWN))
    wire["later"] = 1
    wire["fact"]["later"] = {"a": []}
    assert decode(msgspec.json.encode(wire)) == WITHDRAWN


def test_a_fact_of_a_later_release_is_kept_whole() -> None:
    wire = b'{"id":"x","actor":"a","fact":{"tag":"claim.praised.v7","by":"all"}}'
    fact = decode(wire).fact
    assert isinstance(fact, UnknownFact)
    assert fact.wire_tag == "claim.praised.v7"
    assert msgspec.json.decode(fact.raw)["by"] == "all"


def test_a_fact_of_a_later_release_is_written_as_it_came() -> None:
    wire = b'{"id":"x","cause":7,"actor":"a","fact":{"tag":"claim.praised.v7","by":"all"}}'
    assert encode(decode(wire)) == wire


@pytest.mark.parametrize(
    "wire",
    [b"", b"{", b"[]", b'{"id":"x","actor":"a"}', encode(WITHDRAWN).replace(b'"uid"', b'"udi"')],
)
def test_a_corrupt_event_names_its_place(wire: bytes) -> None:
    with pytest.raises(CorruptEventError, match="sequence 17"):
        decode(wire, "sequence 17")


def test_a_retired_tag_is_read_as_its_successor() -> None:
    steps = {
        "old.v1": lambda fact: {**fact, "tag": "old.v2"},
        "old.v2": lambda fact: {**fact, "tag": "new.v1"},
    }
    assert upcast({"tag": "old.v1", "a": 1}, steps) == {"tag": "new.v1", "a": 1}
    assert upcast({"tag": "new.v1"}, steps) is None
