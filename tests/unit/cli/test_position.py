"""Places in the log are named by sequence or by time."""

import pytest
from cluster import a_class, a_record
from hypothesis import given
from hypothesis import strategies as st

from dra_cli.core.position import THE_END, BadPositionError, Position, parse_position
from dra_cli.core.sentences import instant
from dra_shared.events.envelope import Envelope


def test_a_number_is_a_sequence() -> None:
    assert parse_position("17") == Position(sequence=17)


@pytest.mark.parametrize(
    "text", ["2026-11-30T15:04:05Z", "2026-11-30T16:04:05+01:00", "2026-11-30T15:04:05"]
)
def test_a_time_has_a_zone_or_is_utc(text: str) -> None:
    assert parse_position(text) == Position(time_ns=1_796_051_045 * 10**9)


@given(st.integers(min_value=0, max_value=2**62))
def test_the_times_that_are_shown_can_be_typed(time_ns: int) -> None:
    assert parse_position(instant(time_ns)).time_ns == time_ns // 1_000_000 * 1_000_000


@pytest.mark.parametrize("text", ["", "yesterday", "-3", "2026-13-01"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(BadPositionError, match="write it as 1234, 2026-"):
        parse_position(text)


def test_a_place_includes_what_stands_at_it_and_before() -> None:
    record = a_record(Envelope(id="e", actor="a", fact=a_class()), 5)
    assert Position(sequence=5).includes(record)
    assert not Position(sequence=4).includes(record)
    assert Position(time_ns=record.time_ns).includes(record)
    assert not Position(time_ns=record.time_ns - 1).includes(record)
    assert THE_END.includes(record)
