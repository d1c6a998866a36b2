"""A log is derived again, and every fact that does not follow is found."""

from collections.abc import Callable

import pytest
from cluster import Story, a_claim, a_class, a_node, a_pod, a_pool, a_record, gone
from msgspec.structs import replace

from dra_allocator.core.fold.evolve import is_own
from dra_allocator.core.replay import replay
from dra_allocator.core.verify import verify
from dra_shared.events.allocations import ClaimAllocated, ClaimReleased, ClaimUnsatisfiable
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.writers import StateRecorded
from dra_shared.log.protocol import Record


def a_log() -> list[Record]:
    """Two pods placed, one refused, one released, one placed again; the hash recorded."""
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0", "d1"]))
    for number in (1, 2, 3):
        story.tell(a_claim(f"c{number}"), a_pod(f"p{number}", f"c{number}"))
    story.decide()
    story.tell(gone("c1"))
    story.decide()
    hash_ = story.state.hash()
    upto = len(story.records)
    story.tell(StateRecorded(writer="allocator", upto=upto, state_hash=hash_))
    return story.records


def changed(records: list[Record], kind: type, change: Callable[..., AnyFact]) -> list[Record]:
    """The log with the first fact of a kind changed."""
    place = next(n for n, record in enumerate(records) if isinstance(record.envelope.fact, kind))
    envelope = records[place].envelope
    envelope = replace(envelope, fact=change(envelope.fact))
    return [*records[:place], a_record(envelope, place + 1), *records[place + 1 :]]


def test_a_true_log_has_no_findings() -> None:
    assert list(verify(a_log())) == []


def _other_device(fact: ClaimAllocated) -> ClaimAllocated:
    cost = fact.claims[0].costs[0]
    cost = replace(cost, device=replace(cost.device, device="d9"))
    return replace(fact, claims=(replace(fact.claims[0], costs=(cost,)),))


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (ClaimAllocated, lambda fact: replace(fact, node="n2")),
        (ClaimAllocated, lambda fact: replace(fact, time="2000-01-01T00:00:00Z")),
        (ClaimAllocated, lambda fact: replace(fact, policy="unheard-of")),
        (ClaimAllocated, _other_device),
        (ClaimUnsatisfiable, lambda fact: replace(fact, devices=7)),
        (ClaimReleased, lambda fact: replace(fact, node=None)),
    ],
    ids=["node", "time", "policy", "device", "count", "release"],
)
def test_a_changed_decision_is_found(kind: type, change: Callable[..., AnyFact]) -> None:
    records = changed(a_log(), kind, change)
    wrong = [record for record, _ in verify(records) if isinstance(record.envelope.fact, kind)]
    assert wrong


def test_a_device_held_twice_is_found() -> None:
    records = a_log()
    taken = next(r for r in records if isinstance(r.envelope.fact, ClaimAllocated))
    double = replace(taken.envelope, id="again", cause=len(records))
    fact = double.fact
    assert isinstance(fact, ClaimAllocated)
    got = replace(fact.claims[0], claim=replace(fact.claims[0].claim, uid="other"))
    double = replace(double, fact=replace(fact, claims=(got,)))
    findings = [what for _, what in verify([*records, a_record(double, len(records) + 1)])]
    assert "device dev.lab.example/n1/d0 is held 2 times" in findings


def test_a_recorded_hash_of_another_state_is_found() -> None:
    records = changed(a_log(), StateRecorded, lambda fact: replace(fact, state_hash="0" * 32))
    ((record, what),) = verify(records)
    assert isinstance(record.envelope.fact, StateRecorded)
    assert "has the hash" in what


def test_a_lost_fact_of_the_allocator_is_found() -> None:
    records = a_log()
    place = next(n for n, r in enumerate(records) if isinstance(r.envelope.fact, ClaimReleased))
    assert list(verify([*records[:place], *records[place + 1 :]]))


def test_replay_gives_the_state_at_any_place() -> None:
    records = a_log()
    at = next(n for n, r in enumerate(records) if is_own(r.envelope.fact))
    assert len(replay(records, upto=at).registers.holdings) == 0
    assert len(replay(records, upto=at + 1).registers.holdings) == 1
    assert len(replay(records).registers.holdings) == 2


def test_facts_of_others_between_a_decision_and_its_place_do_not_matter() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
    story.tell(a_claim("c1"), a_pod("p1", "c1"))
    story.speak()
    story.tell(a_pool("n1", [], generation=2))
    story.send()
    assert list(verify(story.records)) == []
    assert story.state.hash() == replay(story.records).hash()


def test_the_envelope_of_a_repeated_place_differs() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0", "d1"]))
    for number in (1, 2):
        story.tell(a_claim(f"c{number}"), a_pod(f"p{number}", f"c{number}"))
    story.speak()
    ids: list[Envelope] = story.unsent
    assert [envelope.id for envelope in ids] == ["allocator:7:0", "allocator:7:1"]
