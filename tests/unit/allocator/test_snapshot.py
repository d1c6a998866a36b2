"""A snapshot holds what the log's facts add up to, no more and no less, and knows when it is hurt."""

import hashlib

import msgspec
import pytest
from cluster import a_claim, a_pod, a_pool, a_record, gone, ref
from histories import NODES, STEPS, Step, a_foreign_allocation, go_on, start
from hypothesis import given
from hypothesis import strategies as st

from dra_allocator.core.engine import Engine
from dra_allocator.core.fold.packed import DamagedSnapshotError
from dra_allocator.core.fold.registers import Registers
from dra_allocator.core.fold.snapshot import (
    Origin,
    OtherReleaseError,
    Place,
    Snapshot,
    digests,
    from_bytes,
    recounted,
    take,
)
from dra_allocator.core.replay import new_state, replay
from dra_allocator.core.verify import verify
from dra_allocator.edge.reducer import reducer_version
from dra_shared.events.allocations import (
    AllocationAdopted,
    ClaimAllocated,
    ClaimReleased,
    ClaimUnsatisfiable,
)
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.mirror import AllocationCleared, ClearedBy
from dra_shared.log.protocol import Record

ORIGIN = Origin(stream="DRA@now", reducer="r")


def after(steps: list[Step]) -> list[Record]:
    """The log of a random history, at the end of which nothing is left to say."""
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    return story.records


def snapshot_of(records: list[Record]) -> Snapshot:
    """A snapshot behind the last of the records, as it comes back from where it was stored."""
    newest = records[-1]
    place = Place(sequence=newest.sequence, time_ns=newest.time_ns, id=newest.envelope.id)
    return from_bytes(take(replay(records).registers, ORIGIN, place).to_bytes())


def restarted(records: list[Record], snapshot: Snapshot | None) -> Engine:
    """An allocator that starts on this log, as the service does it."""
    engine = Engine(new_state(), "pack")
    if snapshot is not None:
        engine.state.start_from(snapshot)
    engine.state.fold(records[engine.state.sequence :])
    engine.begin()
    return engine


def followed(records: list[Record]) -> Engine:
    """An allocator that was there all the time and has still to say what follows from it."""
    engine = Engine(new_state(), "pack")
    for record in records:
        engine.take(record)
    return engine


def held(engine: Engine) -> object:
    """What is taken of devices and of nodes."""
    state = engine.state
    return sorted(map(str, state.in_use.costs())), state.nodes.taken(), state.cards.twice


def said(engine: Engine) -> list[Envelope]:
    """All that it has to say now."""
    events: list[Envelope] = []
    while (envelope := engine.next(epoch=1)) is not None:
        events.append(envelope)
    return events


def settled(events: list[Envelope]) -> set[tuple[type, str]]:
    """Which claims were settled how: those that come together may be settled in any order."""
    facts = [event.fact for event in events]
    return {
        (type(f), f.claim.uid) for f in facts if isinstance(f, ClaimReleased | AllocationAdopted)
    }


def users(engine: Engine) -> object:
    """What is known of registers read the other way round."""
    registers = engine.state.registers
    return dict(registers.users), dict(registers.groups)


def decided(events: list[Envelope]) -> list[AnyFact]:
    """Which pods were placed or refused, in this order."""
    facts = [event.fact for event in events]
    return [fact for fact in facts if isinstance(fact, ClaimAllocated | ClaimUnsatisfiable)]


@given(STEPS, st.integers(1, 1000))
def test_a_snapshot_with_the_log_behind_it_is_the_whole_log(steps: list[Step], cut: int) -> None:
    records = after(steps)
    part = snapshot_of(records[: 1 + cut % len(records)])
    whole, short = followed(records), restarted(records, part)
    assert short.state.hash() == whole.state.hash() == replay(records).hash()
    assert held(short) == held(whole)
    assert users(short) == users(whole)
    assert decided(said(short)) == decided(said(whole))
    assert short.waiting == whole.waiting


@given(STEPS, st.integers(1, 1000))
def test_an_allocator_that_starts_from_a_snapshot_says_what_follows_from_the_log(
    steps: list[Step], cut: int
) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    known = story.records[: 1 + cut % len(story.records)]
    events = said(restarted(known, snapshot_of(known)))
    for other in (followed(known), restarted(known, None)):
        others = said(other)
        assert decided(events) == decided(others)
        assert settled(events) == settled(others)
    log = [*known, *(a_record(event, len(known) + n) for n, event in enumerate(events, 1))]
    assert list(verify(log)) == []


@given(STEPS, st.integers(1, 1000), st.integers(1, 1000))
def test_what_comes_after_a_start_from_a_snapshot_is_taken_in_whatever_was_asked_before(
    steps: list[Step], cut: int, start_at: int
) -> None:
    records = after(steps)
    cut = 1 + cut % len(records)
    start_at = cut + start_at % (len(records) - cut + 1)
    whole, short = followed(records), restarted(records[:start_at], snapshot_of(records[:cut]))
    for record in records[start_at:]:
        short.take(record)
    assert held(short) == held(whole)
    assert users(short) == users(whole)
    assert short.state.hash() == whole.state.hash()
    assert decided(said(short)) == decided(said(whole))


def test_what_was_owed_at_the_start_is_said() -> None:
    story = start()
    story.tell(a_claim("c1"), a_pod("p1", "c1"), a_claim("c2"))
    story.decide()
    story.tell(gone("c1"), a_foreign_allocation("c2", "n3", "d0"))
    owed = {(ClaimReleased, "c1-uid"), (AllocationAdopted, "c2-uid")}
    for known in range(1, len(story.records) + 1):
        engine = restarted(story.records, snapshot_of(story.records[:known]))
        assert settled(said(engine)) == owed
    assert settled(said(restarted(story.records, None))) == owed


def test_a_pod_that_lost_its_place_hears_of_its_claims_again() -> None:
    story = start()
    story.tell(a_claim("c1"), a_pod("p1", "c1"))
    story.decide()
    news: tuple[AnyFact, ...] = (
        *(a_pool(node, [], generation=2) for node in NODES),
        AllocationCleared(claim=ref("c1"), by=ClearedBy.OTHERS),
        a_foreign_allocation("c1", "n3", "d0"),
    )
    for engine in (story.engine, restarted(story.records, snapshot_of(story.records))):
        answers: list[AnyFact] = []
        for sequence, fact in enumerate(news, len(story.records) + 1):
            engine.take(a_record(Envelope(id=f"e{sequence}", actor="test", fact=fact), sequence))
            answers += decided(said(engine))
        assert [type(answer) for answer in answers] == [ClaimUnsatisfiable, ClaimAllocated]


@given(STEPS)
def test_a_digest_kept_in_step_is_the_one_counted_anew(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
        registers = story.state.registers
        assert digests(registers) == recounted(registers)


@given(st.data())
def test_any_damage_is_noticed(data: st.DataObject) -> None:
    stored = bytearray(snapshot_of(start().records).to_bytes())
    place = data.draw(st.integers(0, len(stored) - 1))
    stored[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedSnapshotError):
        from_bytes(bytes(stored))


def test_half_a_snapshot_is_noticed() -> None:
    stored = snapshot_of(start().records).to_bytes()
    for half in (stored[:-1], stored[:64], stored[:9], b""):
        with pytest.raises(DamagedSnapshotError, match="digest"):
            from_bytes(half)


def test_a_whole_snapshot_with_a_head_of_another_release_is_told_from_a_damaged_one() -> None:
    head, newline, packed = snapshot_of(start().records).to_bytes()[64:].partition(b"\n")
    for other in (head.replace(b"origin", b"source"), b"", head + b" " + head):
        rest = other + newline + packed
        with pytest.raises(OtherReleaseError, match="head"):
            from_bytes(hashlib.sha256(rest).hexdigest().encode() + rest)


def test_contents_that_are_no_registers_are_noticed() -> None:
    whole = snapshot_of(start().records)
    for packed in (b"x" * 99, b"", whole.packed[1:]):
        with pytest.raises(DamagedSnapshotError, match="contents"):
            msgspec.structs.replace(whole, packed=packed).fill(Registers())


def test_every_register_is_in_a_snapshot() -> None:
    head = snapshot_of(start().records).head
    assert set(head.digests) == {register.name for register in Registers().each()}


def test_a_release_names_its_fold_always_the_same() -> None:
    assert reducer_version() == reducer_version()
