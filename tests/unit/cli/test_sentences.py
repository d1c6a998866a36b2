"""Every fact can be told to people."""

from unit.cli.ledger import a_history

from dra_cli.core.sentences import SENTENCES, instant, line, several
from dra_shared.events.envelope import UnknownFact, UnreadableFact, fact_types


def test_every_fact_has_a_sentence() -> None:
    assert set(SENTENCES) == {*fact_types(), UnknownFact, UnreadableFact}


def test_a_line_has_sequence_time_tag_and_what_happened() -> None:
    told = [line(record) for record in a_history().records]
    assert any("claim.allocated.v1" in text and "n2: ns/one = " in text for text in told)
    assert told[2].split()[:3] == ["3", "00:00:03.000", "agent.started.v1"]
    assert all("\n" not in text for text in told)


def test_times_are_utc_to_the_millisecond() -> None:
    assert instant(1_796_000_000_123_456_789) == "2026-11-30T00:53:20.123Z"


def test_long_lists_are_cut_short() -> None:
    assert several("abcdef") == "a, b, c, d and 2 more"
    assert several(()) == "nothing"
