"""What the log has to learn of other drivers' pools: whole while they are small, else bit by bit.

An event is one message, and a network-wide pool of 10,000 devices is larger than NATS takes in
one. A slice that is too large by itself is left out, and said to be: its pool stays incomplete.
"""

from typing import Final

import msgspec

from dra_api_bridge.core.attempts import LARGEST
from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import Topic, Work
from dra_shared.events.cluster import (
    ForeignSlicesChanged,
    ForeignSlicesObserved,
    ForeignSlicesRemoved,
)
from dra_shared.kube.devices import ResourceSlice
from dra_shared.kube.meta import ObjectMeta

PART: Final = 400_000
"""Bytes of slices that go together in one event."""

MOST_GONE: Final = 1_000
"""Names of slices that go together in one event."""

AROUND: Final = 2_000
"""Bytes that are left for what stands around the slices of an event."""

Sized = tuple[ResourceSlice, int]


def foreign_fact(
    mirror: Mirror, work: Work
) -> ForeignSlicesObserved | ForeignSlicesChanged | ForeignSlicesRemoved | None:
    """What the log has to learn of the pool next, None if it is as the log says."""
    known, shown = _known(mirror, work), _shown(mirror, work)
    if not shown:
        removed = ForeignSlicesRemoved(driver=work.name, pool=work.pool)
        return removed if known is not None else None
    slices = tuple(item for item, _ in shown)
    if known is not None and known.slices == slices:
        return None
    if sum(size for _, size in shown) <= PART:
        return ForeignSlicesObserved(driver=work.name, pool=work.pool, slices=slices)
    return _next_part(work, known.slices if known is not None else (), shown)


def _known(mirror: Mirror, work: Work) -> ForeignSlicesObserved | None:
    known = mirror.recorded.cluster.get(work)
    return known if isinstance(known, ForeignSlicesObserved) else None


def _shown(mirror: Mirror, work: Work) -> tuple[Sized, ...]:
    """The pool's slices with nothing but what counts, by name, and how large each of them is."""
    place = Work(Topic.SLICE, work.name, work.pool)
    mirror.attempts.too_large.pop(place, None)
    if work.name in mirror.recorded.drivers:
        return ()
    found: list[Sized] = []
    for seen in mirror.observed.slices(work.name, work.pool):
        item = ResourceSlice(metadata=ObjectMeta(name=seen.metadata.name), spec=seen.spec)
        size = len(msgspec.json.encode(item))
        if size <= LARGEST - AROUND:
            found.append((item, size))
        else:
            mirror.attempts.too_large[place] = size
    return tuple(found)


def _next_part(
    work: Work, known: tuple[ResourceSlice, ...], shown: tuple[Sized, ...]
) -> ForeignSlicesChanged:
    """What went; if nothing did, as many slices that are new or different as go together."""
    names = {item.metadata.name for item, _ in shown}
    gone = [item.metadata.name for item in known if item.metadata.name not in names]
    if gone:
        removed = tuple(gone[:MOST_GONE])
        return ForeignSlicesChanged(driver=work.name, pool=work.pool, removed=removed)
    before = {item.metadata.name: item for item in known}
    part: list[ResourceSlice] = []
    total = 0
    for item, size in shown:
        if before.get(item.metadata.name) != item and (not part or total + size <= PART):
            part.append(item)
            total += size
    return ForeignSlicesChanged(driver=work.name, pool=work.pool, slices=tuple(part))
