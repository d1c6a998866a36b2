"""A cluster without its surroundings: the bridge's and the allocator's cores on one log in memory.

Objects go in as watches would show them, decisions come out as they would stand in the log. Nothing
is decided here, there is no clock and no I/O: the same objects always give the same log.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from dra_allocator.core.decide import MOST_DOUBLINGS
from dra_allocator.core.engine import Engine
from dra_allocator.core.policy import DEFAULT
from dra_allocator.core.replay import new_state
from dra_api_bridge.core.facts import WRITER, new_facts
from dra_api_bridge.core.features import KNOWN
from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import FEATURES, SHAPES, KubeObject, Topic, Work, address
from dra_api_bridge.core.observed import Change
from dra_shared.events.allocations import AllocationFact
from dra_shared.events.cluster import FeaturesObserved
from dra_shared.events.envelope import Envelope
from dra_shared.events.subjects import subject
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
    """A bridge and an allocator that work in turns. `records`: the log so far."""

    def __init__(self, features: FeaturesObserved = NEWEST, policy: str = DEFAULT) -> None:
        self.policy = policy
        self.records: list[Record] = []
        self.engine = Engine(new_state(), policy)
        self._mirror = Mirror(features)
        self._due: dict[Work, None] = {FEATURES: None}
        self._version = 0

    def show(self, *objects: KubeObject) -> None:
        """Objects are there, or are different now."""
        for one in objects:
            self._version += 1
            meta = msgspec.structs.replace(one.metadata, resource_version=str(self._version))
            now = msgspec.structs.replace(one, metadata=meta)
            self._change(Change(_KINDS[type(one)], address(meta), now))
        self._tell()

    def remove(self, *objects: KubeObject) -> None:
        """Objects are gone."""
        for one in objects:
            self._change(Change(_KINDS[type(one)], address(one.metadata), None))
        self._tell()

    def decide(self) -> list[AllocationFact]:
        """All that the allocator has to say now; searches that end at their limit go on."""
        said = self._speak()
        while self._limited():
            self.engine.retry_limited()
            said += self._speak()
        return said

    def restart(self) -> None:
        """A new allocator, which knows nothing but the log."""
        self.engine = Engine(new_state(), self.policy)
        for record in self.records:
            self.engine.take(record)

    def append(self, event: Envelope) -> None:
        """The next event of the log, whoever wrote it."""
        sequence = len(self.records) + 1
        record = Record(sequence, sequence * SECOND, subject(event.fact), event)
        self.records.append(record)
        self._look(self._mirror.take_record(record))
        self.engine.take(record)

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

    def _limited(self) -> bool:
        """Whether a search ended at a limit that is not yet the largest."""
        refusals = self.engine.state.registers.refusals.view.values()
        return any(0 < one.limits <= MOST_DOUBLINGS for one in refusals)

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


def _rank(work: Work) -> int:
    return _ORDER.index(work.topic)
