"""Who is decided next, and who is woken for whom."""

from hypothesis import given
from hypothesis import strategies as st

from dra_allocator.core.queue import Queue
from dra_allocator.core.wakeups import Topic

RELEASES = frozenset({Topic.RELEASES})


def queue_of(*pods: str, kind: str = "k") -> Queue:
    queue = Queue()
    for number, pod in enumerate(pods):
        queue.put(pod, kind, priority=0, arrival=number)
    return queue


def asleep(*pods: str) -> Queue:
    """All of one kind, each refused once."""
    queue = queue_of(*pods)
    while (pod := queue.next()) is not None:
        queue.refused(pod, RELEASES)
    return queue


def test_the_first_that_came_is_first() -> None:
    queue = queue_of("a", "b")
    assert [queue.next(), queue.next(), queue.next()] == ["a", "b", None]


def test_higher_priority_goes_first() -> None:
    queue = queue_of("a")
    queue.put("b", "k", priority=1, arrival=9)
    assert queue.next() == "b"


def test_a_change_wakes_the_first_of_those_that_ask_for_the_same() -> None:
    queue = asleep("a", "b")
    queue.wake({Topic.RELEASES})
    assert [queue.next(), queue.next()] == ["a", None]


def test_another_change_wakes_nobody() -> None:
    queue = asleep("a")
    queue.wake({Topic.CLASSES})
    assert queue.next() is None


def test_one_that_was_placed_wakes_the_next_of_its_kind() -> None:
    queue = asleep("a", "b", "c")
    queue.wake({Topic.RELEASES})
    assert queue.next() == "a"
    queue.remove("a")
    assert [queue.next(), queue.next()] == ["b", None]


def test_one_that_goes_before_its_turn_leaves_it_to_the_next() -> None:
    queue = asleep("a", "b")
    queue.wake({Topic.RELEASES})
    queue.remove("a")
    assert queue.next() == "b"


def test_one_that_goes_in_its_sleep_wakes_nobody() -> None:
    queue = asleep("a", "b")
    queue.remove("a")
    assert queue.next() is None


def test_one_at_its_search_limit_does_not_keep_its_like_from_waking() -> None:
    queue = asleep("a", "b")
    queue.wake_pod("a")
    assert queue.next() == "a"
    queue.refused("a", frozenset())
    queue.remove("a")
    queue.wake({Topic.RELEASES})
    assert queue.next() == "b"


def test_a_pod_that_asks_for_something_else_is_decided_anew() -> None:
    queue = asleep("a")
    queue.put("a", "other", priority=0, arrival=0)
    assert queue.next() == "a"


MOVES = st.lists(
    st.tuples(st.sampled_from(["put", "remove", "next", "wake", "wake pod"]), st.integers(0, 5)),
    max_size=60,
)


@given(MOVES)
def test_every_pod_is_either_awake_or_woken_by_its_topic(moves: list[tuple[str, int]]) -> None:
    queue = Queue()
    waiting: set[str] = set()
    for number, (move, which) in enumerate(moves):
        pod, kind = f"p{which}", which % 2
        match move:
            case "put":
                queue.put(pod, kind, priority=which % 3, arrival=number)
                waiting.add(pod)
            case "remove":
                queue.remove(pod)
                waiting.discard(pod)
            case "next":
                found = queue.next()
                if found is not None:
                    queue.refused(found, RELEASES)
            case "wake":
                queue.wake(RELEASES)
            case _:
                queue.wake_pod(pod)
    placed = set()
    queue.wake(RELEASES)
    while (found := queue.next()) is not None:
        placed.add(found)
        queue.remove(found)
    assert placed == waiting
    assert len(queue) == 0
