"""Groups: all or nothing whatever happens, nothing left of what was tried, and no way overlooked."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest
from cluster import (
    DRIVER,
    Story,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_pool,
    a_request,
    placed,
)
from histories import STEPS, Step, go_on, start
from hypothesis import given
from hypothesis import strategies as st
from unit.allocator.test_kept_state import kept

from dra_allocator.core.decide import decide
from dra_allocator.core.fold.registers import group_key
from dra_allocator.core.verify import verify
from dra_shared.events.allocations import (
    AllocationFact,
    ClaimAllocated,
    ClaimUnsatisfiable,
    Refusal,
)
from dra_shared.events.claims import PodGroupRef
from dra_shared.kube.claims import DeviceRequest, DeviceSubRequest
from dra_shared.kube.devices import Device, DeviceAttribute

Wish = tuple[int, str]
"""So many devices of a kind; of any for the kind `*`."""


@given(STEPS)
def test_a_decision_leaves_the_state_as_it_was(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    before = kept(story.state)
    for uid in tuple(story.state.registers.pods):
        decide(story.state, uid, "pack")
        assert kept(story.state) == before


@given(STEPS)
def test_the_first_of_a_group_is_never_placed_without_its_fellows(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        known = set(story.state.registers.placed)
        pods = dict(story.state.registers.pods.items())
        before = len(story.unsent)
        go_on(story, step)
        said = [event.fact for event in story.unsent[before:] if step.what == "speak"]
        new = {fact.pod.uid for fact in said if isinstance(fact, ClaimAllocated)}
        for uid in new:
            key = group_key(pods[uid].request)
            members = {one for one, pod in pods.items() if group_key(pod.request) == key}
            if key is not None and not members & known:
                assert len(members & new) >= key[1].size


KINDS = st.sampled_from(["a", "b", "*"])
WISHES = st.lists(st.tuples(st.integers(1, 2), KINDS), min_size=1, max_size=2)


def a_device_of(kind: str, name: str) -> Device:
    return a_device(name, attributes={"kind": DeviceAttribute(string=kind)})


def asked(wishes: Sequence[Wish]) -> DeviceRequest:
    """One wish as it is, several as alternatives."""
    if len(wishes) == 1:
        ((count, of),) = wishes
        return a_request("r", count, *_selects(of))
    subs = []
    for number, (count, of) in enumerate(wishes):
        exactly = a_request("r", count, *_selects(of)).exactly
        assert exactly is not None
        sub = DeviceSubRequest(
            name=f"s{number}", device_class_name="any", count=count, selectors=exactly.selectors
        )
        subs.append(sub)
    return DeviceRequest(name="r", first_available=tuple(subs))


def _selects(of: str) -> tuple[str, ...]:
    return () if of == "*" else (f'device.attributes["{DRIVER}"].kind == "{of}"',)


def a_group(nodes: Sequence[str], pods: Sequence[Sequence[Wish]]) -> Story:
    """Nodes with devices of these kinds, and the pods of one group."""
    story = Story().tell(a_class())
    for number, kinds in enumerate(nodes):
        devices = [a_device_of(of, f"d{n}") for n, of in enumerate(kinds)]
        story.tell(a_node(f"n{number}"), a_pool(f"n{number}", devices))
    group = PodGroupRef(name="g", size=len(pods))
    for number, wishes in enumerate(pods):
        story.tell(a_claim(f"c{number}", asked(wishes)))
        story.tell(a_pod(f"p{number}", f"c{number}", group=group))
    return story


def fits(nodes: Sequence[str], pods: Sequence[Sequence[Wish]]) -> bool:
    """Whether there is any way at all, by trying every one."""
    if not pods:
        return True
    return any(
        fits([*nodes[:number], left, *nodes[number + 1 :]], pods[1:])
        for count, of in pods[0]
        for number, kinds in enumerate(nodes)
        for left in _without(kinds, count, of)
    )


def _without(kinds: str, count: int, of: str) -> Iterator[str]:
    """What may be left of a node's devices."""
    for taken in combinations(range(len(kinds)), count):
        if of == "*" or all(kinds[place] == of for place in taken):
            yield "".join(one for place, one in enumerate(kinds) if place not in taken)


@given(
    st.lists(st.text("ab", max_size=3), min_size=1, max_size=3),
    st.lists(WISHES, min_size=2, max_size=4),
)
def test_a_group_is_refused_only_if_there_is_no_way(
    nodes: list[str], pods: list[list[Wish]]
) -> None:
    story = a_group(nodes, pods)
    said: list[AllocationFact] = story.decide()
    assert len(placed(said)) == (len(pods) if fits(nodes, pods) else 0)
    assert list(verify(story.records)) == []


def test_a_search_that_takes_too_long_is_a_limit_and_not_a_no() -> None:
    """Eleven pods of two kinds want a node each, and there are ten: no count of one kind shows it."""
    story = a_group(["aaa"] * 10, [[(2, "a")], [(2, "*")]] * 5 + [[(2, "a")]])
    limits = [fact for fact in story.decide() if _is_limit(fact)]
    assert len(limits) == 1
    assert placed(story.decide()) == {}
    assert list(verify(story.records)) == []


def _is_limit(fact: AllocationFact) -> bool:
    return isinstance(fact, ClaimUnsatisfiable) and fact.refusal is Refusal.SEARCH_LIMIT


def test_a_group_is_refused_when_no_node_can_ever_help_one_of_its_pods() -> None:
    for names in (("any", "any", "nowhere"), ("nowhere", "any", "any"), ("any", "nowhere", "any")):
        story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
        group = PodGroupRef(name="g", size=3)
        for number, name in enumerate(names):
            story.tell(a_claim(f"c{number}", a_request(device_class_name=name)))
            story.tell(a_pod(f"p{number}", f"c{number}", group=group))
        assert placed(story.decide()) == {}
        assert not story.state.registers.holdings
        assert list(verify(story.records)) == []


@pytest.mark.parametrize("written", [1, 2])
def test_what_a_writer_left_of_a_group_is_placed_by_the_next(written: int) -> None:
    story = a_group(["aa", "aa"], [[(1, "a")]] * 3)
    story.speak()
    for event in story.unsent[:written]:
        story.append(event)
    successor = Story()
    for record in story.records:
        successor.append(record.envelope)
    assert len(placed(successor.decide())) == 3 - written
    assert list(verify(successor.records)) == []
