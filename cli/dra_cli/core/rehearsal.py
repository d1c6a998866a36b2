"""A cluster without its surroundings: the bridge's and the allocator's cores on one log in memory.

Objects go in as watches would show them, decisions come out as they would stand in the log. Nothing
is decided here, there is no clock and no I/O: the same objects always give the same log.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from dra_allocator.core.engine import Engine
from dra_allocator.core.policy import DEFAULT
from dra_allocator.core.replay import new_state
from dra_allocator.core.state import ClusterState
from dra_api_bridge.core.facts import WRITER, new_facts
from dra_api_bridge.core.features import KNOWN
from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import (
    ADMIN_LABEL,
    FEATURES,
    SHAPES,
    Kind,
    KubeObject,
    Namespace,
    Topic,
    Work,
    address,
)
from dra_api_bridge.core.observed import Change
from dra_api_bridge.core.recorded import ClaimRecord
from dra_shared.events.allocations import AllocationFact
from dra_shared.events.cluster import FeaturesObserved
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.subjects import subject
from dra_shared.kube.claims import ResourceClaim
from dra_shared.kube.meta import ObjectMeta
from dra_shared.log.protocol import Record

EPOCH: Final = 1
SECOND: Final = 1_000_000_000

NEWEST: Final = FeaturesObserved(server_version="newest", features=tuple(sorted(KNOWN)))
"""All features that we know, whether or not a release has them on."""

_KINDS: Final = {shape: kind for kind, shape in SHAPES.items()}

_ORDER: Final = (
    Topic.FEATURES,
    Topic.CLASS,
    Topic.TAINT_RULE,
    Topic.POOL,
    Topic.NODE,
    Topic.CLAIM,
    Topic.POD,
)
"""Facts of the cluster first; within a topic in the order in which the objects were shown."""


class Rehearsal:
    """A bridge and an allocator that work in turns. `records`: what they wrote so far.

    With a `state` they go on from there, and only `features` that are given are news.
    """

    def __init__(
        self,
        features: FeaturesObserved | None = NEWEST,
        policy: str = DEFAULT,
        state: ClusterState | None = None,
    ) -> None:
        self.policy = policy
        self.records: list[Record] = []
        self.engine = Engine(state or new_state(), policy)
        self.engine.begin()
        self._mirror = Mirror(features or NEWEST)
        self._due: dict[Work, None] = {FEATURES: None} if features else {}
        self._version = 0

    def show(self, *objects: KubeObject) -> None:
        """Objects are there, or are different now."""
        for one in objects:
            self._version += 1
            meta = msgspec.structs.replace(one.metadata, resource_version=str(self._version))
            now = msgspec.structs.replace(one, metadata=meta)
            self._change(Change(_KINDS[type(one)], address(meta), now))
        self._tell()

    def remind(self, *claims: ResourceClaim) -> None:
        """Claims that the state knows, with what they have, for pods that will refer to them."""
        for one in claims:
            requested = self.engine.state.registers.claims.get(one.metadata.uid)
            assert requested is not None
            if requested.admin_namespace:
                self._change(_admin_namespace(requested.claim.namespace))
            known = ClaimRecord(requested=requested, last=0, foreign=one.status.allocation)
            self._mirror.recorded.claims[one.metadata.uid] = known
            self._mirror.take_change(Change(Kind.CLAIMS, address(one.metadata), one))

    def remove(self, *objects: KubeObject) -> None:
        """Objects are gone."""
        for one in objects:
            self._change(Change(_KINDS[type(one)], address(one.metadata), None))
        self._tell()

    def decide(self) -> list[AllocationFact]:
        """All that the allocator has to say now; searches that end at their limit go on."""
        said = self._speak()
        self.engine.retry_limited()
        while self.engine.has_work:
            said += self._speak()
            self.engine.retry_limited()
        return said

    def learn(self, *facts: AnyFact) -> None:
        """Facts that only the allocator hears of: the bridge would correct them."""
        for fact in facts:
            number = self.engine.state.sequence + 1
            self._record(Envelope(id=f"learned:{number}", actor="rehearsal", fact=fact))

    def append(self, event: Envelope) -> None:
        """The next event of the log, whoever wrote it."""
        self._look(self._mirror.take_record(self._record(event)))

    def _record(self, event: Envelope) -> Record:
        """A second after the one before."""
        state = self.engine.state
        time_ns = state.time_ns + SECOND
        record = Record(state.sequence + 1, time_ns, subject(event.fact), event)
        self.records.append(record)
        self.engine.take(record)
        return record

    def _speak(self) -> list[AllocationFact]:
        said: list[AllocationFact] = []
        events: list[Envelope] = []
        while (event := self.engine.next(EPOCH)) is not None:
            assert isinstance(event.fact, AllocationFact)
            said.append(event.fact)
            events.append(event)
            if not self.engine.is_amid_group:
                self._commit(events)
                events = []
        self._tell()
        return said

    def _commit(self, events: Iterable[Envelope]) -> None:
        for event in events:
            self.append(event)

    def _change(self, change: Change) -> None:
        self._look(self._mirror.take_change(change))

    def _look(self, works: Iterable[Work]) -> None:
        self._due |= dict.fromkeys(sorted(works))

    def _tell(self) -> None:
        """The bridge says what the log lacks, until it lacks nothing."""
        while self._due:
            works, self._due = sorted(self._due, key=_rank), {}
            for event in new_facts(self._mirror, works, f"{WRITER}@{EPOCH}"):
                self.append(event)


def _admin_namespace(name: str) -> Change:
    labelled = Namespace(metadata=ObjectMeta(name=name, labels={ADMIN_LABEL: "true"}))
    return Change(Kind.NAMESPACES, address(labelled.metadata), labelled)


def _rank(work: Work) -> int:
    return _ORDER.index(work.topic)
