"""Derives every decision of the allocator again from a log, and says where it differs.

Three things are checked, all in one pass: each fact of the allocator is what its rules give for the
state that it knew (I2); nothing is held twice or more than there is (I1, `Ledger`); and each
recorded hash is that of the state at its place.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from dra_allocator.core.decide import decide
from dra_allocator.core.fold.evolve import evolve, is_own
from dra_allocator.core.fold.registers import Registers, state_hash
from dra_allocator.core.ledger import Ledger
from dra_allocator.core.policy import DEFAULT, POLICIES, UnknownPolicyError
from dra_allocator.core.replay import new_state
from dra_allocator.core.settle import settle
from dra_shared.events.allocations import (
    AllocationAdopted,
    AllocationFact,
    ClaimAllocated,
    ClaimUnsatisfiable,
)
from dra_shared.events.writers import StateRecorded
from dra_shared.log.protocol import Record

WRITER: Final = "allocator"
REMEMBERED: Final = 16_384
"""How far behind its own place a recorded hash may lie."""

Finding = tuple[Record, str]


def verify(records: Iterable[Record], policy: str = DEFAULT) -> Iterator[Finding]:
    """The facts that the allocator's own rules do not give, each with what is wrong.

    `policy` is tried first for refusals, which do not name theirs. The records must begin with the
    first of the log.
    """
    again, hashes = _Again(policy), _Hashes()
    for record in records:
        again.read(record)
        hashes.read(record)
        fact = record.envelope.fact
        if isinstance(fact, AllocationFact):
            yield from ((record, wrong) for wrong in again.check(record, fact))
        elif isinstance(fact, StateRecorded) and fact.writer == WRITER:
            yield from ((record, wrong) for wrong in hashes.check(fact))


class _Again:
    """The allocator once more, knowing at each decision what the first one knew."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._state = new_state()
        self._ledger = Ledger()
        self._unread: deque[Record] = deque()
        self._promised: dict[str, AllocationFact] = {}
        """What else was decided with the last decision, by pod."""

    def read(self, record: Record) -> None:
        """Keeps a record until a decision knew it."""
        self._unread.append(record)

    def check(self, record: Record, fact: AllocationFact) -> Iterator[str]:
        """What is wrong with a fact of the allocator; it is applied whatever that is."""
        self._catch_up(record.envelope.cause)
        expected = self._expected(fact)
        if expected != fact:
            told = "nothing" if expected is None else f"{type(expected).__name__}: {expected}"
            yield f"from the log up to {record.envelope.cause} follows {told}"
        yield from self._ledger.check(self._state, fact)
        self._state.apply_own(record.envelope)

    def _catch_up(self, cause: int) -> None:
        while self._unread and self._unread[0].sequence <= cause:
            self._promised.clear()
            record = self._unread.popleft()
            if is_own(record.envelope.fact):
                self._state.see(record)
            else:
                self._state.apply(record)

    def _expected(self, fact: AllocationFact) -> AllocationFact | None:
        match fact:
            case ClaimAllocated():
                return self._decide(fact.pod.uid, fact.policy)
            case ClaimUnsatisfiable():
                return self._refuse(fact)
            case AllocationAdopted():
                return settle(self._state, fact.claim.uid, strict_cards=fact.strict_cards)
            case _:
                return settle(self._state, fact.claim.uid)

    def _refuse(self, fact: ClaimUnsatisfiable) -> AllocationFact | None:
        """What follows under the policy that is given, or under another that explains the fact."""
        uid = fact.pod.uid
        expected = self._decide(uid, self._policy)
        if expected == fact or any(self._decide(uid, policy) == fact for policy in POLICIES):
            return fact
        return expected

    def _decide(self, pod_uid: str, policy: str) -> AllocationFact | None:
        if pod_uid in self._promised:
            return self._promised[pod_uid]
        try:
            decisions = decide(self._state, pod_uid, policy)
        except UnknownPolicyError:
            return None
        self._promised = {fact.pod.uid: fact for fact in decisions[1:]}
        return decisions[0] if decisions else None


class _Hashes:
    """The state's hash at each of the last places of the log."""

    def __init__(self) -> None:
        self._registers = Registers()
        self._at: dict[int, str] = {}

    def read(self, record: Record) -> None:
        """Goes on by one record."""
        evolve(self._registers, record.envelope, record.sequence)
        self._registers.take_changes()
        self._at[record.sequence] = state_hash(self._registers)
        if len(self._at) > REMEMBERED:
            del self._at[next(iter(self._at))]

    def check(self, fact: StateRecorded) -> Iterator[str]:
        """What is wrong with a recorded hash."""
        known = self._at.get(fact.upto)
        if known is None:
            yield f"the state at {fact.upto} lies too far back to be compared"
        elif known != fact.state_hash:
            yield f"the state at {fact.upto} has the hash {known}"
