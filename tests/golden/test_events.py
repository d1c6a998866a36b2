"""Documents of the past: every event that was ever released reads as it did, for ever.

`events.jsonl` has one event of each tag with every field set. Lines are added when a release
adds a tag or a field; none is ever changed or taken out.
"""

from pathlib import Path

import pytest

from dra_shared.events.envelope import (
    CorruptEventError,
    UnknownFact,
    decode,
    encode,
    known_tags,
)

HERE = Path(__file__).parent
GOOD = (HERE / "events.jsonl").read_bytes().splitlines()
BAD = sorted((HERE / "bad").glob("*.json"))


@pytest.mark.parametrize("line", GOOD, ids=[str(number) for number in range(len(GOOD))])
def test_a_released_event_reads_as_it_was_written(line: bytes) -> None:
    event = decode(line)
    assert not isinstance(event.fact, UnknownFact)
    assert encode(event) == line


def test_every_tag_has_its_document() -> None:
    assert {str(decode(line).fact.__struct_config__.tag) for line in GOOD} == known_tags()


@pytest.mark.parametrize("path", BAD, ids=[path.stem for path in BAD])
def test_a_bad_document_is_refused_by_name(path: Path) -> None:
    with pytest.raises(CorruptEventError, match=path.stem):
        decode(path.read_bytes(), path.stem)
