"""A watch: the changes of one kind as its client should see them, bookmarks included.

Turns the store's events into the watch protocol's; the HTTP side is in ``routes``.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Final

import msgspec

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.requests import Query, Target, parse_version
from dra_devcluster.api.resources import Object
from dra_devcluster.api.selectors import Predicate
from dra_devcluster.api.store import Change, Event

BOOKMARK_SECONDS: Final = 60.0
BOOKMARK_LEAD: Final = 2.0
"""The last bookmark comes this long before the watch ends by its own time limit."""
INITIAL_END: Final = "k8s.io/initial-events-end"


class Sent(msgspec.Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: Object


async def watch(cluster: Cluster, target: Target, query: Query) -> AsyncIterator[Sent]:
    """What a client is sent, until its time is over. A version too old ends it with an ERROR."""
    version = parse_version(query.resource_version)
    try:
        position = version or cluster.store.revision
        if version == 0 or query.initial_events:
            position = cluster.store.revision
            for sent in _initial(cluster, target, query):
                yield sent
        else:
            cluster.store.check_reachable(position)
        async for sent in _changes(cluster, target, query, position):
            yield sent
    except ApiError as refusal:
        yield Sent("ERROR", refusal.status())


def _initial(cluster: Cluster, target: Target, query: Query) -> Iterator[Sent]:
    for obj in cluster.scan(target.resource, target.namespace):
        if query.selects(obj):
            yield Sent(Change.ADDED, obj)
    if query.initial_events:
        yield _bookmark(target, cluster.store.revision, ended=True)


async def _changes(
    cluster: Cluster, target: Target, query: Query, position: int
) -> AsyncIterator[Sent]:
    clock = asyncio.get_running_loop()
    ends = clock.time() + query.timeout_seconds if query.timeout_seconds else float("inf")
    bookmark_at = _next_bookmark(clock.time(), ends)
    while (now := clock.time()) < ends:
        for event in cluster.store.events_after(position):
            position = event.revision
            if sent := _as_seen(event, target, query.selects):
                yield sent
        if query.bookmarks and now >= bookmark_at:
            yield _bookmark(target, position)
            bookmark_at = _next_bookmark(now, ends)
        wake = min(ends, bookmark_at if query.bookmarks else ends) - now
        await _until_changed(cluster, position, wake)


def _next_bookmark(now: float, ends: float) -> float:
    last = ends - BOOKMARK_LEAD
    return last if now < last < now + BOOKMARK_SECONDS else now + BOOKMARK_SECONDS


async def _until_changed(cluster: Cluster, position: int, seconds: float) -> None:
    try:
        limit = None if seconds == float("inf") else seconds
        await asyncio.wait_for(cluster.store.wait_beyond(position), limit)
    except TimeoutError:
        return


def _as_seen(event: Event, target: Target, selects: Predicate) -> Sent | None:
    """The event for a client that sees only what it selects: leaving its view is DELETED."""
    if event.resource != target.resource:
        return None
    if target.namespace not in ("", event.after["metadata"].get("namespace")):
        return None
    was = event.before is not None and selects(event.before)
    now = event.change is not Change.DELETED and selects(event.after)
    if not was and not now:
        return None
    if not now:
        return Sent(Change.DELETED, event.after)
    return Sent(Change.MODIFIED if was else Change.ADDED, event.after)


def _bookmark(target: Target, position: int, *, ended: bool = False) -> Sent:
    metadata: Object = {"resourceVersion": str(position), "creationTimestamp": None}
    if ended:
        metadata["annotations"] = {INITIAL_END: "true"}
    resource = target.resource
    return Sent(
        "BOOKMARK",
        {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata},
    )
