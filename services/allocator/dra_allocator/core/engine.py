"""The allocator without its surroundings: takes records in, gives decisions out, one at a time.

Decisions are applied at once, before they stand in the log; when they come back through it they
are recognised and only counted as seen. No I/O, no clock: who calls it reads, commits and waits.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Final

from dra_allocator.core.decide import MOST_DOUBLINGS, decide
from dra_allocator.core.demand import Demand, demand_of
from dra_allocator.core.fold.register import Change
from dra_allocator.core.fold.registers import Refused, group_key
from dra_allocator.core.groups import Fellows, fellows_of
from dra_allocator.core.policy import policy_of
from dra_allocator.core.queue import Queue
from dra_allocator.core.settle import may_owe, settle
from dra_allocator.core.state import ClusterState
from dra_allocator.core.wakeups import Topic, topics_in, topics_of
from dra_shared.events.allocations import (
    AllocationAdopted,
    AllocationFact,
    ClaimReleased,
    ClaimUnsatisfiable,
)
from dra_shared.events.claims import PodRequested
from dra_shared.events.envelope import Envelope
from dra_shared.log.protocol import Record

WRITER: Final = "allocator"

LONG_WAIT: Final = 16
"""Turns that a pod waits which has spent the largest budget in vain."""


_OF_CLAIMS: Final = (ClaimReleased, AllocationAdopted)
"""Facts that are about a claim, not about a pod."""

_OWING: Final = frozenset({"claims", "shown", "write_refused", "holdings"})
"""Registers of claims about which something may have to be said."""


class Engine:
    """Decides what waits, in order. `state` is for reading."""

    def __init__(self, state: ClusterState, policy: str) -> None:
        self.state = state
        self._policy = policy
        self._queue = Queue()
        self._waiting_for: dict[str, set[str]] = {}
        """Pods without a place by the uid of a claim."""
        self._owed: OrderedDict[str, None] = OrderedDict()
        """Ordered so that taking the first costs the same however many there were."""
        self._limited: dict[str, tuple[int, int]] = {}
        """Pods at their search limit: the turn, and the number of news, that they wait for."""
        self._turn = 0
        self._news = 0
        self._promised: deque[AllocationFact] = deque()
        """Decisions on the rest of a group that hold together with the one that was told last."""
        self._outstanding: set[str] = set()
        self._ordinal = (0, 0)
        self._follows: dict[str, Callable[[Change], None]] = {
            "pods": self._follow_pod,
            "placed": self._follow_placed,
            "unfit": self._follow_unfit,
            **dict.fromkeys(_OWING, self._follow_claim),
        }

    @property
    def waiting(self) -> int:
        """Pods without a place."""
        return len(self._queue)

    @property
    def outstanding(self) -> int:
        """Own facts that were applied and have not come back through the log yet."""
        return len(self._outstanding)

    @property
    def is_amid_group(self) -> bool:
        """Whether what was told last needs what comes next: no record may be taken in between."""
        return bool(self._promised)

    @property
    def has_work(self) -> bool:
        """Whether there may be something to say."""
        return bool(self._owed) or self._queue.is_awake

    def begin(self) -> None:
        """Makes ready to decide after the state was filled and folded; needless if it was not."""
        self.state.begin()
        registers = self.state.registers
        waiting = registers.pods.keys() - registers.placed.keys()
        for uid in waiting:
            self._note_waiting(uid)
        self._ask_again(waiting)
        gone = registers.holdings.keys() - registers.claims.keys()
        self._owed.update((uid, None) for uid in sorted(gone))
        self._owed.update((uid, None) for uid in (*registers.shown, *registers.write_refused))

    def take(self, record: Record) -> None:
        """Takes in one record of the log."""
        if record.envelope.id in self._outstanding:
            self._outstanding.discard(record.envelope.id)
            self.state.see(record)
        else:
            changes = self.state.apply(record)
            self._note_owed(changes)
            self._follow(changes)

    def next(self, epoch: int) -> Envelope | None:
        """Gives the next fact of the allocator, already applied; None if there is nothing to say."""
        fact = self._promised.popleft() if self._promised else None
        if fact is None and self._owed:
            fact = self._next_settlement()
        if fact is None:
            fact = self._next_decision()
        if fact is None:
            return None
        envelope = self._envelope(fact, epoch)
        self._outstanding.add(envelope.id)
        self._follow(self.state.apply_own(envelope))
        if isinstance(fact, ClaimUnsatisfiable):
            refused = self.state.registers.refusals.get(fact.pod.uid)
            if refused is not None and refused.fact is fact:
                self._sleep(refused)
        return envelope

    def retry_limited(self) -> None:
        """Lets one pod try again whose search ended at its limit: the one that waited longest.

        One a turn, so that hostile claims never take all the time. With the largest budget spent,
        a pod waits `LONG_WAIT` turns, and for something that could help.
        """
        self._turn += 1
        for uid, (turn, news) in self._limited.items():
            if turn <= self._turn and news <= self._news:
                del self._limited[uid]
                self._queue.wake_pod(uid)
                return

    def _next_settlement(self) -> AllocationFact | None:
        while self._owed:
            uid, _ = self._owed.popitem(last=False)
            fact = settle(self.state, uid, strict_cards=policy_of(self._policy).strict_cards)
            if fact is not None:
                return fact
        return None

    def _next_decision(self) -> AllocationFact | None:
        while (uid := self._queue.next()) is not None:
            self._limited.pop(uid, None)
            decisions = decide(self.state, uid, self._policy)
            if decisions:
                self._promised.extend(decisions[1:])
                return decisions[0]
            refused = self.state.registers.refusals.get(uid)
            if demand_of(self.state.registers, uid) is None or refused is None:
                self._queue.remove(uid)
            else:
                self._sleep(refused)
        return None

    def _sleep(self, refused: Refused) -> None:
        """Puts a refused pod to sleep until something may help it."""
        uid = refused.fact.pod.uid
        pod = self.state.registers.pods.get(uid)
        topics = topics_of(refused.fact)
        grouped = pod is not None and pod.request.group is not None
        self._queue.refused(uid, frozenset(Topic) if grouped and topics else topics)
        if refused.limits > MOST_DOUBLINGS:
            self._limited[uid] = (self._turn + LONG_WAIT, self._news + 1)
        elif refused.limits:
            self._limited[uid] = (self._turn + 1, 0)

    def _envelope(self, fact: AllocationFact, epoch: int) -> Envelope:
        """Wraps a fact. Its id is the same whenever the same is decided from the same place."""
        cause = self.state.sequence
        last, ordinal = self._ordinal
        self._ordinal = (cause, ordinal + 1 if last == cause else 0)
        about = fact.claim if isinstance(fact, _OF_CLAIMS) else fact.pod
        return Envelope(
            id=f"{WRITER}:{cause}:{self._ordinal[1]}",
            cause=cause,
            correlation=about.uid,
            actor=f"{WRITER}@{epoch}",
            fact=fact,
        )

    def _note_owed(self, changes: Iterable[Change]) -> None:
        """Something may have to be said about claims that changed, unless we changed them."""
        for change in changes:
            if change.register in _OWING and may_owe(self.state.registers, change.key):
                self._owed[change.key] = None

    def _follow(self, changes: Iterable[Change]) -> None:
        """Notes what changes mean for those that wait."""
        topics: frozenset[Topic] = frozenset()
        for change in changes:
            if brought := topics_in(change):
                topics |= brought
            follow = self._follows.get(change.register)
            if follow is not None:
                follow(change)
        if topics:
            self._news += 1
            self._queue.wake(topics)

    def _follow_claim(self, change: Change) -> None:
        waiting = self._waiting_for.get(change.key)
        if waiting is not None:
            self._ask_again(waiting)

    def _follow_unfit(self, change: Change) -> None:
        for claim_uid in sorted({*(change.old or ()), *(change.new or ())}):
            self._ask_again(self._waiting_for.get(claim_uid, ()))

    def _follow_pod(self, change: Change) -> None:
        if change.old is not None:
            self._forget_waiting(change.old.request)
        self._note_waiting(change.key)
        if change.new is None:
            self._queue.remove(change.key)
            self._limited.pop(change.key, None)
        else:
            self._ask_again((change.key,))
        fellows = self._fellows((change.new or change.old).request)
        if fellows is not None and (change.new is None or fellows.is_complete):
            self._put(*fellows.waiting)

    def _follow_placed(self, change: Change) -> None:
        if change.new is not None:
            self._queue.remove(change.key)
            pod = self.state.registers.pods.get(change.key)
            if pod is not None:
                self._forget_waiting(pod.request)
            fellows = self._fellows(pod.request) if pod is not None else None
            if fellows is not None and not fellows.need:
                self._put(*fellows.waiting)
        elif change.key in self.state.registers.pods:
            self._note_waiting(change.key)
            self._ask_again((change.key,))

    def _note_waiting(self, pod_uid: str) -> None:
        registers = self.state.registers
        pod = registers.pods.get(pod_uid)
        if pod is not None and pod_uid not in registers.placed:
            for ref in pod.request.claims:
                self._waiting_for.setdefault(ref.uid, set()).add(pod_uid)

    def _forget_waiting(self, request: PodRequested) -> None:
        for ref in request.claims:
            pods = self._waiting_for.get(ref.uid)
            if pods is not None:
                pods.discard(request.pod.uid)
                if not pods:
                    del self._waiting_for[ref.uid]

    def _ask_again(self, pod_uids: Iterable[str]) -> None:
        """Queues pods that must be decided anew, unless they do not wait."""
        placed = self.state.registers.placed
        for uid in sorted([uid for uid in pod_uids if uid not in placed]):
            demand = demand_of(self.state.registers, uid)
            if demand is not None:
                self._put(demand)
                fellows = self._fellows(demand.pod.request)
                if fellows is not None and fellows.is_complete:
                    self._put(*fellows.together[:1])

    def _put(self, *demands: Demand) -> None:
        for demand in demands:
            request, arrival = demand.pod.request, demand.pod.arrival
            kind = self.state.kind_of(demand) if request.group is None else None
            self._queue.put(
                request.pod.uid,
                kind or request.pod.uid,
                priority=request.priority,
                arrival=arrival,
            )

    def _fellows(self, request: PodRequested) -> Fellows | None:
        key = group_key(request)
        return None if key is None else fellows_of(self.state.registers, key)
