"""A refused pod is tried again when something it was refused for changes, and only then."""

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
    refused,
)
from histories import a_rule

from dra_allocator.core import decide as deciding
from dra_shared.events.allocations import Refusal
from dra_shared.events.cluster import ClassRemoved, FeaturesObserved, TaintRuleRemoved
from dra_shared.events.mirror import AllocationRefused
from dra_shared.events.pools import NodeReturned


def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pods that are decided from now on."""
    seen: list[str] = []
    decide = deciding.decide

    def count(state: object, uid: str, policy: str) -> object:
        seen.append(uid)
        return decide(state, uid, policy)  # type: ignore[arg-type] # passed on as it came

    monkeypatch.setattr("dra_allocator.core.engine.decide", count)
    return seen


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


def test_pods_that_ask_for_the_same_are_not_all_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    story = full()
    tried = attempts(monkeypatch)
    story.tell(a_pool("n1", ["d0"], generation=2))
    assert story.decide() == []
    assert tried == ["p2-uid"]


@pytest.mark.parametrize(
    "fact",
    [a_claim("c9"), gone("c9"), NodeReturned(node="n9"), ended("p9"), ClassRemoved(name="x")],
    ids=lambda fact: type(fact).__name__,
)
def test_what_does_not_matter_wakes_nobody(fact: object, monkeypatch: pytest.MonkeyPatch) -> None:
    story = full()
    tried = attempts(monkeypatch)
    story.tell(fact)  # type: ignore[arg-type] # one of several facts
    assert (story.decide(), tried) == ([], [])


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


def test_a_limited_search_is_tried_again_with_twice_the_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deciding, "BUDGET", 2)
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", [f"d{n}" for n in range(6)]))
    story.tell(a_claim("c1", a_request(count=6)), a_pod("p1", "c1"))
    no = refused(story.decide())["p1"]
    assert no.refusal is Refusal.SEARCH_LIMIT
    assert no.summary == "search limit of 2 steps reached before there was an answer"
    assert story.decide() == []
    story.engine.retry_limited()
    assert refused(story.decide())["p1"].summary.startswith("search limit of 4 steps")
    story.engine.retry_limited()
    assert placed(story.decide()) == {"p1": "n1"}


def test_a_limited_search_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "BUDGET", 1)
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", [f"d{n}" for n in range(16)]))
    story.tell(a_claim("c1", a_request(count=16)), a_pod("p1", "c1"))
    tried = attempts(monkeypatch)
    for _ in range(100):
        story.decide()
        story.engine.retry_limited()
    assert len(tried) == 4
    for attempt in (5, 6):
        story.tell(a_node("n1", cpu_milli=attempt))
        for _ in range(16):
            story.engine.retry_limited()
            story.decide()
        assert len(tried) == attempt


def test_limited_searches_are_tried_one_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "BUDGET", 1)
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", [f"d{n}" for n in range(6)]))
    for number in (1, 2, 3):
        story.tell(a_claim(f"c{number}", a_request(count=6)), a_pod(f"p{number}", f"c{number}"))
    story.decide()
    tried = attempts(monkeypatch)
    for _ in range(3):
        story.engine.retry_limited()
        story.decide()
    assert tried == ["p1-uid", "p2-uid", "p3-uid"]


def test_a_pod_that_cannot_be_placed_blocks_nobody_behind_it() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
    story.tell(a_claim("big", a_request(count=9)), a_pod("p1", "big", priority=9))
    story.tell(a_claim("c2"), a_pod("p2", "c2"))
    assert placed(story.decide()) == {"p2": "n1"}
