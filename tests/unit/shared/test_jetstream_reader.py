"""What the server says beside each message is read right, in whatever form it says it."""

from hypothesis import given
from hypothesis import strategies as st

from dra_shared.log.jetstream_reader import numbers_of

NUMBERS = st.integers(0, 2**63 - 1)
REPLIES = st.tuples(
    st.sampled_from(["$JS.ACK.DRA.c.1.", "$JS.ACK.DRA.c.2.", "$JS.ACK.hub.h4sh.DRA.c.1."]),
    st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS),
)


@given(st.lists(REPLIES))
def test_replies_say_four_numbers_whatever_stands_before_them(
    replies: list[tuple[str, tuple[int, ...]]],
) -> None:
    sent = [(before + ".".join(map(str, numbers))).encode() for before, numbers in replies]
    assert numbers_of(sent) == [number for _, numbers in replies for number in numbers]


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS)), st.sampled_from(["7", "r4nd"]))
def test_replies_may_say_something_more_behind_them(
    replies: list[tuple[int, ...]], more: str
) -> None:
    sent = [
        f"$JS.ACK.hub.h4sh.DRA.c.1.{'.'.join(map(str, numbers))}.{more}".encode()
        for numbers in replies
    ]
    assert numbers_of(sent) == [number for numbers in replies for number in numbers]
