"""How facts become registers."""

import pytest
from cluster import Story, a_claim, a_node, a_pod, a_pool, gone, ref
from histories import STEPS, Step, go_on, start
from hypothesis import given
from hypothesis import strategies as st

from dra_allocator.core.fold.evolve import APPLIES, IGNORED, evolve, fold, is_own
from dra_allocator.core.fold.registers import Registers, state_hash
from dra_allocator.core.replay import READ
from dra_shared.events.envelope import fact_types
from dra_shared.events.fact import Fact
from dra_shared.events.mirror import AllocationWritten, PodUngated
from dra_shared.events.subjects import subject
from dra_shared.log.journal import matches
from dra_shared.log.protocol import Record


@pytest.mark.parametrize("kind", fact_types(), ids=lambda kind: kind.__name__)
def test_each_fact_is_applied_or_ignored_on_purpose(kind: type[Fact]) -> None:
    assert (kind in APPLIES) != (kind in IGNORED)


def is_read(place: str) -> bool:
    return any(matches(place, wanted) for wanted in READ)


@given(STEPS)
def test_what_it_does_not_read_changes_nothing(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    read = [record for record in story.records if is_read(record.subject)]
    assert registers_of(read) == registers_of(story.records)


@pytest.mark.parametrize(
    "fact",
    [
        AllocationWritten(claim=ref("c1"), node="n1", resource_version="1"),
        PodUngated(pod=ref("p1"), node="n1"),
    ],
)
def test_it_does_not_read_that_all_went_as_it_decided(fact: Fact) -> None:
    assert not is_read(subject(fact))


def registers_of(records: list[Record]) -> str:
    registers = Registers()
    for record in records:
        evolve(registers, record.envelope, record.sequence)
    return state_hash(registers)


@given(STEPS, st.integers(0, 20))
def test_folding_leads_where_each_fact_leads_and_only_what_follows_is_noted(
    steps: list[Step], rest: int
) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    before = story.records[: max(0, len(story.records) - rest)]
    folded, followed = Registers(), Registers()
    fold(folded, before)
    for record in before:
        evolve(followed, record.envelope, record.sequence)
    followed.take_changes()
    for record in story.records[len(before) :]:
        evolve(folded, record.envelope, record.sequence)
        evolve(followed, record.envelope, record.sequence)
    assert folded.take_changes() == followed.take_changes()
    assert state_hash(folded) == state_hash(followed)


@given(STEPS)
def test_own_facts_may_be_applied_as_soon_as_what_they_rest_on(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    own = [record for record in story.records if is_own(record.envelope.fact)]
    others = [record for record in story.records if not is_own(record.envelope.fact)]
    early: list[Record] = []
    for record in others:
        while own and own[0].envelope.cause < record.sequence:
            early.append(own.pop(0))
        early.append(record)
    assert registers_of(early + own) == registers_of(story.records)


def test_the_hash_does_not_depend_on_the_way_there() -> None:
    there = Story().tell(a_node("n1"), a_claim("c1"), a_pool("n1", ["d0"]))
    detour = Story().tell(a_pool("n1", ["d9"]), a_claim("c2"), a_claim("c1"), gone("c2"))
    detour.tell(a_pool("n1", ["d0"]), a_node("n1", cpu_milli=1), a_node("n1"))
    assert there.state.hash() == detour.state.hash()


def test_the_hash_depends_on_every_value() -> None:
    one = Story().tell(a_node("n1"))
    other = Story().tell(a_node("n1", cpu_milli=1))
    assert one.state.hash() != other.state.hash()


def test_a_pod_keeps_its_arrival_when_it_changes() -> None:
    story = Story().tell(a_claim("c1"), a_pod("p1", "c1"), a_pod("p1", "c1", priority=3))
    pod = story.state.registers.pods.get("p1-uid")
    assert pod is not None
    assert (pod.arrival, pod.request.priority) == (2, 3)
