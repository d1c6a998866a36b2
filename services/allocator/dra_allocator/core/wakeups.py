"""What a refused pod waits for, and which of it a change brings. No polling: no change, no retry.

Coarse on purpose: a topic too many costs one repeated decision, a topic too few leaves a pod
waiting for ever.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dra_allocator.core.fold.register import Change
from dra_shared.events.allocations import ClaimUnsatisfiable, ReasonKind, Refusal


class Topic(StrEnum):
    """Something that can change in favour of a pod."""

    DEVICES = "devices"
    """A pool, a taint rule, or what the cluster supports."""
    RELEASES = "releases"
    """A device is no longer held, or held by somebody else."""
    NEW_NODES = "new_nodes"
    NODES = "nodes"
    """A node's labels, taints, liveness or room."""
    CLASSES = "classes"
    WRITES = "writes"
    """What the API server refused may be tried again."""


_NOTHING: Final[frozenset[Topic]] = frozenset()
_ALWAYS: Final = frozenset({Topic.DEVICES, Topic.NEW_NODES, Topic.CLASSES})

_BY_REASON: Final[Mapping[ReasonKind, Topic]] = MappingProxyType(
    {
        ReasonKind.IN_USE: Topic.RELEASES,
        ReasonKind.CAPACITY: Topic.RELEASES,
        ReasonKind.COUNTERS: Topic.RELEASES,
        ReasonKind.CONSTRAINT: Topic.RELEASES,
        ReasonKind.NOT_ENOUGH: Topic.RELEASES,
        ReasonKind.NODE_UNFIT: Topic.NODES,
    }
)
"""Reasons that are not here are about devices alone."""


def topics_of(refusal: ClaimUnsatisfiable) -> frozenset[Topic]:
    """What may help a pod that was refused so; at the search limit only another try does.

    A pod that waits for its group is asked again when the group changes.
    """
    if refusal.refusal in {Refusal.SEARCH_LIMIT, Refusal.GROUP}:
        return frozenset()
    by_reason = {_BY_REASON.get(reason.kind, Topic.DEVICES) for reason in refusal.reasons}
    if refusal.refusal is Refusal.INVALID:
        by_reason |= {Topic.WRITES, Topic.RELEASES}
    return _ALWAYS | by_reason


def topics_in(change: Change) -> frozenset[Topic]:
    """What a change may help with; nothing if it only takes something away."""
    says = _BY_REGISTER.get(change.register)
    return says(change) if says else _NOTHING


def _always(*topics: Topic) -> Callable[[Change], frozenset[Topic]]:
    answer = frozenset(topics)
    return lambda _: answer


def _when_present(*topics: Topic) -> Callable[[Change], frozenset[Topic]]:
    answer = frozenset(topics)
    return lambda change: answer if change.new is not None else _NOTHING


def _when_gone(*topics: Topic) -> Callable[[Change], frozenset[Topic]]:
    answer = frozenset(topics)
    return lambda change: answer if change.new is None else _NOTHING


def _when_left(*topics: Topic) -> Callable[[Change], frozenset[Topic]]:
    answer = frozenset(topics)
    return lambda change: answer if change.old is not None else _NOTHING


def _node(change: Change) -> frozenset[Topic]:
    if change.new is None:
        return _NOTHING
    return frozenset({Topic.NODES} if change.old else {Topic.NODES, Topic.NEW_NODES})


_BY_REGISTER: Final[Mapping[str, Callable[[Change], frozenset[Topic]]]] = MappingProxyType(
    {
        "pools": _always(Topic.DEVICES),
        "foreign": _always(Topic.DEVICES),
        "features": _always(Topic.DEVICES),
        "taint_rules": _always(Topic.DEVICES),
        "classes": _when_present(Topic.CLASSES),
        "nodes": _node,
        "lost": _when_gone(Topic.NODES),
        "unfit": _when_left(Topic.NODES),
        "placed": _when_left(Topic.NODES, Topic.RELEASES),
        "holdings": _when_left(Topic.RELEASES),
        "write_refused": _when_gone(Topic.WRITES),
    }
)
