"""The state that a log's facts add up to, taken in strictly as they stand there."""

from collections.abc import Iterable
from typing import Final

import kube_cel
from dra_allocator.core.search.selectors import Selectors
from dra_allocator.core.state import ClusterState
from dra_shared.events import subjects
from dra_shared.log.protocol import Record

READ: Final = (
    subjects.POOLS,
    subjects.CLUSTER,
    subjects.CLAIMS,
    subjects.PODS,
    subjects.ALLOCATIONS,
    subjects.OBJECTIONS,
    f"{subjects.ROOT}.epoch.*",
)
"""Where all facts stand that change the state."""


def new_state() -> ClusterState:
    """A state before the first fact."""
    return ClusterState(Selectors(kube_cel.Environment()))


def replay(records: Iterable[Record], upto: int | None = None) -> ClusterState:
    """The state after the record with sequence `upto`, or after all: what the service had there.

    The records must begin with the first of the log.
    """
    state = new_state()
    for record in records:
        if upto is not None and record.sequence > upto:
            break
        state.apply(record)
    return state
