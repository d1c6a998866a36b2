"""Objects in memory, one revision per change, and a bounded history that watches read from.

The store knows no rule of any kind: it takes whole objects and keeps order. A watcher holds only
its position, so a slow one costs nothing and is told ``Expired`` once the history has moved on.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from dra_devcluster.api.errors import expired
from dra_devcluster.api.resources import Key, Object, Resource, key_of


class Change(StrEnum):
    """What happened to an object; the words are those of the watch protocol."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Event(msgspec.Struct, frozen=True):
    """One change. ``before`` is None for ADDED; for DELETED ``after`` is the last state."""

    revision: int
    change: Change
    resource: Resource
    before: Object | None
    after: Object


class Store:
    """All objects by kind and key, at one revision, which begins at ``first``."""

    def __init__(self, history: int, first: int = 1) -> None:
        self.revision = first
        self._objects: dict[Resource, dict[Key, Object]] = defaultdict(dict)
        self._history: dict[int, Event] = {}
        self._limit = history
        self._oldest = self.revision
        self._changed = asyncio.Event()

    def get(self, resource: Resource, key: Key) -> Object | None:
        """The object as last stored, not to be changed, or None."""
        return self._objects[resource].get(key)

    def scan(self, resource: Resource, namespace: str = "") -> Iterator[Object]:
        """All objects of a kind in key order, of one namespace if one is named."""
        for key, obj in sorted(self._objects[resource].items(), key=lambda item: item[0]):
            if namespace in ("", key.namespace):
                yield obj

    def put(self, resource: Resource, obj: Object) -> Object:
        """Store the object as the next revision; returns what was stored."""
        key = key_of(obj)
        before = self._objects[resource].get(key)
        stored = _at_revision(obj, self.revision + 1)
        self._objects[resource][key] = stored
        self._append(resource, Change.MODIFIED if before else Change.ADDED, before, stored)
        return stored

    def remove(self, resource: Resource, key: Key) -> Object:
        """Delete the object; returns its last state at the revision of its deletion."""
        before = self._objects[resource].pop(key)
        last = _at_revision(before, self.revision + 1)
        self._append(resource, Change.DELETED, before, last)
        return last

    def forget_history(self) -> None:
        """Make every version before the present one too old to watch from."""
        self._history.clear()
        self._oldest = self.revision

    def check_reachable(self, revision: int) -> None:
        """Raise ``Expired`` (410) if changes right after the revision are not known.

        They may be forgotten, or the revision may be of another cluster's life.
        """
        if not self._oldest <= revision <= self.revision:
            raise expired(revision, self._oldest)

    def events_after(self, revision: int) -> Iterator[Event]:
        """What is known to have happened since, in order. Raises ``Expired`` (410)."""
        position = revision
        self.check_reachable(position)
        while position < self.revision:
            self.check_reachable(position)
            position += 1
            yield self._history[position]

    async def wait_beyond(self, revision: int) -> None:
        """Return once the store has moved past the revision."""
        while self.revision <= revision:
            await self._changed.wait()

    def _append(
        self, resource: Resource, change: Change, before: Object | None, after: Object
    ) -> None:
        self.revision += 1
        self._history[self.revision] = Event(self.revision, change, resource, before, after)
        if len(self._history) > self._limit:
            self._oldest += 1
            del self._history[self._oldest]
        self._changed.set()
        self._changed = asyncio.Event()


def _at_revision(obj: Object, revision: int) -> Object:
    metadata = {**obj["metadata"], "resourceVersion": str(revision)}
    return {**obj, "metadata": metadata}
