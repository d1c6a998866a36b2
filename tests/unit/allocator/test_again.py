"""A pod goes where the last of its kind went only if a new allocator would send it there too."""

import pytest
from cluster import (
    Story,
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_pool,
    a_request,
    ended,
    gone,
    placed,
    ref,
)
from histories import a_foreign_allocation, a_network_pool, a_rule
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dra_allocator.core.again import again
from dra_allocator.core.decide import decide
from dra_allocator.core.demand import demand_of
from dra_allocator.core.policy import POLICIES
from dra_allocator.core.replay import replay
from dra_allocator.core.search.nodes import one_node
from dra_shared.events.allocations import (
    AllocationFact,
    ClaimAllocated,
    ClaimReleased,
    ClaimUnsatisfiable,
)
from dra_shared.events.envelope import AnyFact
from dra_shared.events.mirror import AllocationCleared, AllocationRefused, ClearedBy
from dra_shared.events.pools import NodeLost, NodeReturned
from dra_shared.ids import ObjectRef

SIZES = {"n1": 4, "n2": 3, "n3": 5}
ZONES = {"n1": "a", "n2": "b", "n3": "a"}
KINDS = (a_request(count=1), a_request(count=2))

WHAT = (
    "pod", "pod", "pod", "pod", "pod of another kind", "pod with two claims", "pod ends",
    "room", "devices", "lost", "back", "rule", "foreign", "network", "refused", "unfit",
)  # fmt: skip
HAPPENINGS = st.lists(st.tuples(st.sampled_from(WHAT), st.integers(0, 7)), min_size=5, max_size=40)


def a_cluster(policy: str) -> Story:
    story = Story(policy).tell(a_class())
    for node, size in SIZES.items():
        story.tell(a_place(node, 4000), a_pool(node, [f"d{n}" for n in range(size)]))
    return story


def a_place(node: str, cpu_milli: int) -> AnyFact:
    return a_node(node, cpu_milli=cpu_milli, labels={"zone": ZONES[node]})


def a_newcomer(story: Story, kind: int, *claims: str) -> tuple[AnyFact, ...]:
    """A pod with a claim of its own, and others that are there."""
    name = f"{len(story.records)}"
    claim = a_claim(f"c{name}", KINDS[kind])
    return claim, a_pod(f"p{name}", f"c{name}", *claims, cpu_milli=500)


def what_happens(story: Story, what: str, number: int) -> tuple[AnyFact, ...]:
    """Half of what happens to pods happens to the newest."""
    node = list(SIZES)[number % len(SIZES)]
    pods = sorted(story.state.registers.pods, key=lambda uid: (len(uid), uid)) or ["nobody-uid"]
    victim = pods[-1 if number > 3 else number % len(pods)].removesuffix("-uid")
    claim = victim.replace("p", "c")
    table: dict[str, tuple[AnyFact, ...]] = {
        "pod": a_newcomer(story, 0),
        "pod of another kind": a_newcomer(story, 1),
        "pod with two claims": a_newcomer(story, 0, claim),
        "pod ends": (ended(victim), gone(claim)),
        "room": (a_place(node, 500 * number),),
        "devices": (a_pool(node, [f"d{n}" for n in range(number)], generation=number + 2),),
        "lost": (NodeLost(node=node, silent_for=9.0),),
        "back": (NodeReturned(node=node),),
        "rule": (a_rule("rule", node, "d0"),),
        "foreign": (a_foreign_allocation(claim, node, f"d{number}"),),
        "network": (a_network_pool(len(story.records), number, "a"),),
        "refused": (AllocationRefused(claim=ref(claim), status=422, message="no"),),
        "unfit": (AllocationCleared(claim=ref(claim), by=ClearedBy.OTHERS, unfit_node=node),),
    }
    return table[what]


@given(st.sampled_from(sorted(POLICIES)), HAPPENINGS)
def test_every_pod_goes_where_a_new_allocator_would_send_it(
    policy: str, happenings: list[tuple[str, int]]
) -> None:
    story = a_cluster(policy)
    for what, number in happenings:
        story.tell(*what_happens(story, what, number))
        decided_as_by_a_new_allocator(story)


def decided_as_by_a_new_allocator(story: Story) -> list[AllocationFact]:
    """All that is decided now, each held against an allocator that has just read the log."""
    said: list[AllocationFact] = []
    while (envelope := story.engine.next(epoch=1)) is not None:
        fact = envelope.fact
        assert isinstance(fact, AllocationFact)
        if isinstance(fact, ClaimAllocated | ClaimUnsatisfiable):
            assert decide(replay(story.records), fact.pod.uid, story.policy)[0] == fact
        story.append(envelope)
        said.append(fact)
    return said


def a_run(policy: str = "pack") -> Story:
    """Two pods of a kind are placed on n1: the first by a search, the second ranked, then known."""
    story = a_cluster(policy)
    story.tell(a_place("n2", 0))
    for _ in range(2):
        story.tell(*a_newcomer(story, 0)).decide()
    return story


def newest_claim(story: Story) -> ObjectRef:
    """The claim that was allocated last."""
    fact = story.records[-1].envelope.fact
    assert isinstance(fact, ClaimAllocated)
    return fact.claims[0].claim


def is_placed_again(story: Story) -> bool:
    """Whether the pod that waits goes where the last one of its kind went, and needs no ranking."""
    (uid,) = (uid for uid in story.state.registers.pods if uid not in story.state.registers.placed)
    demand = demand_of(story.state.registers, uid)
    assert demand is not None
    return again(story.state, demand, story.policy) is not None


@pytest.mark.parametrize("policy", ["pack", "first-fit"])
def test_a_run_of_pods_fills_a_node_without_ranking_the_others(policy: str) -> None:
    story = a_run(policy)
    assert is_placed_again(story.tell(*a_newcomer(story, 0)))


def test_a_node_that_became_a_worse_choice_is_ranked_again() -> None:
    story = a_run("spread")
    assert not is_placed_again(story.tell(*a_newcomer(story, 0)))


def test_a_node_without_room_is_ranked_again() -> None:
    story = a_run()
    story.tell(a_place("n1", 1000), *a_newcomer(story, 0))
    assert list(placed(decided_as_by_a_new_allocator(story)).values()) == ["n3"]


def test_what_happens_on_another_node_makes_all_of_them_be_ranked_again() -> None:
    story = a_run()
    story.tell(a_place("n2", 4000), a_pool("n2", ["d0"], generation=2), *a_newcomer(story, 0))
    assert list(placed(decided_as_by_a_new_allocator(story)).values()) == ["n2"]


def test_a_pod_that_is_bound_by_another_claim_goes_where_that_is() -> None:
    story = a_run()
    far = a_foreign_allocation("far", "n3", "d4")
    far = replace(far, allocation=replace(far.allocation, node_selector=one_node("n3")))
    story.tell(a_claim("far"), far).decide()
    story.tell(*a_newcomer(story, 0)).decide()
    story.tell(*a_newcomer(story, 0, "far"))
    assert list(placed(decided_as_by_a_new_allocator(story)).values()) == ["n3"]


def test_a_claim_whose_allocation_was_refused_is_not_allocated_again() -> None:
    story = a_run()
    story.tell(AllocationRefused(claim=newest_claim(story), status=422, message="no"))
    said = decided_as_by_a_new_allocator(story)
    assert [type(fact) for fact in said] == [ClaimReleased, ClaimUnsatisfiable]


def test_a_claim_that_could_not_run_on_a_node_does_not_go_there_again() -> None:
    story = a_run()
    claim = newest_claim(story)
    story.tell(AllocationCleared(claim=claim, by=ClearedBy.OTHERS, unfit_node="n1"))
    assert list(placed(decided_as_by_a_new_allocator(story)).values()) == ["n3"]


def test_where_many_nodes_see_a_pool_all_of_them_are_ranked_each_time() -> None:
    story = a_cluster("pack").tell(a_network_pool(1, 2, "a"))
    for _ in range(3):
        story.tell(*a_newcomer(story, 0))
        assert not is_placed_again(story)
        story.decide()
