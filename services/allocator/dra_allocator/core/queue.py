"""Which pod is decided next: by priority, then by arrival; refused ones sleep until woken.

Pods that ask for the same sleep together: if the first of them is refused again, so would be the
others, and only the first is asked. A pod that cannot be placed does not block those behind it.
"""

import heapq
from collections.abc import Hashable, Iterable

from dra_allocator.core.wakeups import Topic

Order = tuple[int, int, str]
"""Priority (negated), arrival, uid: the smallest is first."""


class Queue:
    """All pods that wait. `kind`: pods of one kind ask for the same."""

    def __init__(self) -> None:
        self._orders: dict[str, Order] = {}
        self._kinds: dict[str, Hashable] = {}
        self._awake: list[Order] = []
        self._asleep: dict[Hashable, list[Order]] = {}
        self._sleepers: set[str] = set()
        self._wait_for: dict[Hashable, frozenset[Topic]] = {}

    def __len__(self) -> int:
        return len(self._orders)

    @property
    def is_awake(self) -> bool:
        """Whether some pod may have to be decided."""
        return bool(self._awake)

    def put(self, pod_uid: str, kind: Hashable, *, priority: int, arrival: int) -> None:
        """Adds a pod that must be decided, or asks for something else from now on."""
        self.remove(pod_uid)
        order = (-priority, arrival, pod_uid)
        self._orders[pod_uid] = order
        self._kinds[pod_uid] = kind
        heapq.heappush(self._awake, order)

    def remove(self, pod_uid: str) -> None:
        """Forgets a pod; if it was awake, the next of its kind tries in its place."""
        if pod_uid not in self._orders:
            return
        del self._orders[pod_uid]
        kind = self._kinds.pop(pod_uid)
        if pod_uid in self._sleepers:
            self._sleepers.discard(pod_uid)
        elif kind in self._asleep:
            self._wake_first(kind)

    def next(self) -> str | None:
        """Takes the first pod that is awake; tell the answer by `refused` or `remove`."""
        while self._awake:
            order = heapq.heappop(self._awake)
            uid = order[2]
            if self._orders.get(uid) is order and uid not in self._sleepers:
                return uid
        return None

    def refused(self, pod_uid: str, topics: frozenset[Topic]) -> None:
        """Puts the pod to sleep until one of the topics comes."""
        kind = self._kinds[pod_uid]
        heapq.heappush(self._asleep.setdefault(kind, []), self._orders[pod_uid])
        self._sleepers.add(pod_uid)
        self._wait_for[kind] = self._wait_for.get(kind, frozenset()) | topics

    def wake(self, topics: Iterable[Topic]) -> None:
        """Wakes the first pod of each kind that waits for one of the topics."""
        came = frozenset(topics)
        if came:
            for kind in [kind for kind, topics in self._wait_for.items() if topics & came]:
                self._wake_first(kind)

    def wake_pod(self, pod_uid: str) -> None:
        """Wakes one pod, whatever it waits for."""
        if pod_uid in self._sleepers:
            self._sleepers.discard(pod_uid)
            heapq.heappush(self._awake, self._orders[pod_uid])

    def _wake_first(self, kind: Hashable) -> None:
        sleepers = self._asleep.get(kind, [])
        while sleepers:
            order = heapq.heappop(sleepers)
            uid = order[2]
            if self._orders.get(uid) is order and uid in self._sleepers:
                self._sleepers.discard(uid)
                heapq.heappush(self._awake, order)
                return
        self._asleep.pop(kind, None)
        self._wait_for.pop(kind, None)
