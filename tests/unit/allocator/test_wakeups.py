"""A refused pod is tried again when something it was refused for changes, and only then."""

from copy import deepcopy

import pytest
from cluster import (
    Story,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_pool,
    a_request,
    ended,
    gone,
    placed,
    ref,
    refused,
)
from histories import a_rule
from msgspec.structs import replace

from dra_allocator.core.decide import BUDGET, MOST_DOUBLINGS
from dra_allocator.core.engine import LONG_WAIT
from dra_shared.events.allocations import Refusal
from dra_shared.events.cluster import ClassRemoved, FeaturesObserved, TaintRuleRemoved
from dra_shared.events.envelope import AnyFact
from dra_shared.events.mirror import AllocationRefused
from dra_shared.events.pools import NodeReturned, PoolPublished
from dra_shared.kube.devices import (
    Counter,
    CounterSet,
    Device,
    DeviceCounterConsumption,
    DeviceTaint,
)


def a_puzzle(thick: int, thin: int, amount: int) -> PoolPublished:
    """A pool of parts that take 3 or 2 of an amount: which of them fit together is a long search."""
    takes = [3] * thick + [2] * thin
    counters = CounterSet(name="k", counters={"k": Counter(value=str(amount))})
    parts = tuple(
        Device(name=f"d{n:02}", consumes_counters=(taking(amount),))
        for n, amount in enumerate(takes)
    )
    pool = a_pool("n1", parts)
    whole = replace(pool.slices[0], pool=replace(pool.slices[0].pool, resource_slice_count=2))
    sets = replace(whole, devices=None, shared_counters=(counters,))
    return replace(pool, slices=(sets, whole))


def taking(amount: int) -> DeviceCounterConsumption:
    return DeviceCounterConsumption(counter_set="k", counters={"k": Counter(value=str(amount))})


def wanting(puzzle: PoolPublished, count: int, *pods: str) -> Story:
    """Pods that each want so many parts of a pool that is a puzzle."""
    story = Story("first-fit").tell(a_class(), a_node("n1"), puzzle)
    for pod in pods:
        story.tell(a_claim(f"c-{pod}", a_request(count=count)), a_pod(pod, f"c-{pod}"))
    return story


def full() -> Story:
    """p1 has the only device, p2 and p3 wait for one."""
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
    for number in (1, 2, 3):
        story.tell(a_claim(f"c{number}"), a_pod(f"p{number}", f"c{number}"))
    story.decide()
    return story


def test_a_claim_waits_for_its_class_and_then_for_a_device() -> None:
    story = Story().tell(a_node("n1"), a_claim("c1"), a_pod("p1", "c1"))
    assert refused(story.decide())["p1"].refusal is Refusal.INVALID
    story.tell(a_class())
    assert refused(story.decide())["p1"].refusal is Refusal.UNSATISFIABLE
    story.tell(a_pool("n1", ["d0"]))
    assert placed(story.decide()) == {"p1": "n1"}


def test_a_released_device_goes_to_the_pod_that_waited_longest() -> None:
    assert placed(full().tell(ended("p1"), gone("c1")).decide()) == {"p2": "n1"}


def test_pods_that_ask_for_the_same_are_not_all_tried() -> None:
    story = full()
    tainted = a_device("d1", taints=(DeviceTaint(key="broken", effect="NoSchedule"),))
    story.tell(a_pool("n1", [a_device("d0"), tainted], generation=2))
    assert set(refused(story.decide())) == {"p2"}, "p3 would have been told the same news"


@pytest.mark.parametrize(
    "fact",
    [a_claim("c9"), gone("c9"), NodeReturned(node="n9"), ended("p9"), ClassRemoved(name="x")],
    ids=lambda fact: type(fact).__name__,
)
def test_what_does_not_matter_wakes_nobody(fact: AnyFact) -> None:
    assert not full().tell(fact).engine.has_work


def test_a_pod_that_kubernetes_refused_does_not_stand_for_its_like() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
    for number in (1, 2, 3):
        story.tell(a_claim(f"c{number}"), a_pod(f"p{number}", f"c{number}"))
    assert placed(story.decide()) == {"p1": "n1"}
    story.tell(AllocationRefused(claim=ref("c1"), status=422, message="no"))
    assert placed(story.decide()) == {"p2": "n1"}
    story.tell(ended("p2"), gone("c2"))
    assert placed(story.decide()) == {"p3": "n1"}


def test_the_same_reasons_are_not_written_twice() -> None:
    story = full().tell(a_node("n1", cpu_milli=1), a_pool("n1", ["d0"], generation=2))
    assert story.decide() == []


def test_other_numbers_of_the_same_reasons_are_not_written() -> None:
    story = full().tell(a_node("n2"), a_claim("big", a_request(count=9)), a_pod("p9", "big"))
    assert refused(story.decide())["p9"].devices == 1
    story.tell(a_pool("n2", ["d0", "d1"]))
    assert placed(story.decide()) == {"p2": "n2", "p3": "n2"}
    assert story.decide() == []


def test_a_new_device_goes_to_a_pod_that_waits() -> None:
    story = full().tell(a_pool("n1", ["d0", "d1", "d2"], generation=2))
    assert placed(story.decide()) == {"p2": "n1", "p3": "n1"}


def test_a_new_node_helps_when_its_pool_came_first() -> None:
    story = full().tell(a_pool("n2", ["d0"]))
    assert placed(story.decide()) == {}
    assert placed(story.tell(a_node("n2")).decide()) == {"p2": "n2"}


def test_a_taint_that_is_lifted_helps() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]), a_rule("r", "n1"))
    story.tell(a_claim("c1"), a_pod("p1", "c1"))
    no = refused(story.decide())["p1"]
    assert no.summary == "0/1 nodes can satisfy: 1 device tainted (broken:NoSchedule)"
    assert placed(story.tell(TaintRuleRemoved(name="r")).decide()) == {"p1": "n1"}


def test_a_node_that_gets_room_helps() -> None:
    story = Story().tell(a_class(), a_node("n1", cpu_milli=100), a_pool("n1", ["d0"]))
    story.tell(a_claim("c1"), a_pod("p1", "c1", cpu_milli=200))
    assert placed(story.decide()) == {}
    assert placed(story.tell(a_node("n1", cpu_milli=300)).decide()) == {"p1": "n1"}


def test_a_feature_that_is_switched_on_helps() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
    story.tell(FeaturesObserved(server_version="v1.34.0", features=()))
    admin = a_claim("c1", a_request(admin_access=True), admin_namespace=True)
    story.tell(admin, a_pod("p1", "c1"))
    assert refused(story.decide())["p1"].refusal is Refusal.INVALID
    story.tell(FeaturesObserved(server_version="v1.36.0", features=("AdminAccess",)))
    assert placed(story.decide()) == {"p1": "n1"}


def test_a_limited_search_is_tried_again_with_twice_the_steps() -> None:
    story = wanting(a_puzzle(9, 8, 16), 8, "p1")
    no = refused(story.decide())["p1"]
    assert no.refusal is Refusal.SEARCH_LIMIT
    assert no.summary == f"search limit of {BUDGET} steps reached before there was an answer"
    assert story.decide() == []
    story.engine.retry_limited()
    assert refused(story.decide())["p1"].summary.startswith(f"search limit of {2 * BUDGET} steps")
    story.engine.retry_limited()
    assert placed(story.decide()) == {"p1": "n1"}


def test_a_limited_search_is_not_tried_for_ever() -> None:
    story = wanting(a_puzzle(12, 12, 23), 12, "p1")
    story.decide()
    for attempt in range(1, 1 + MOST_DOUBLINGS):
        story.engine.retry_limited()
        steps = BUDGET << attempt
        assert refused(story.decide())["p1"].summary.startswith(f"search limit of {steps} steps")
    assert turns_until_tried(deepcopy(story)) is None, "nothing came that could help"
    story.tell(a_node("n1", cpu_milli=1))
    assert turns_until_tried(story) == LONG_WAIT


def turns_until_tried(story: Story) -> int | None:
    """After how many turns a pod at its limit is to be tried again; None if not within a hundred."""
    for turn in range(100):
        if story.engine.has_work:
            return turn
        story.engine.retry_limited()
    return None


def test_limited_searches_are_tried_one_a_turn() -> None:
    story = wanting(a_puzzle(12, 12, 23), 12, "p1", "p2", "p3")
    assert set(refused(story.decide())) == {"p1", "p2", "p3"}
    tried = []
    for _ in range(3):
        story.engine.retry_limited()
        tried.append(set(refused(story.decide())))
    assert tried == [{"p1"}, {"p2"}, {"p3"}]


def test_a_pod_that_cannot_be_placed_blocks_nobody_behind_it() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
    story.tell(a_claim("big", a_request(count=9)), a_pod("p1", "big", priority=9))
    story.tell(a_claim("c2"), a_pod("p2", "c2"))
    assert placed(story.decide()) == {"p2": "n1"}
