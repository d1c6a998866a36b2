"""Which nodes changed, in order, so that an index catches up only when somebody asks it."""

from collections.abc import Iterable
from typing import Final

LONGEST: Final = 65_536
"""Of more changes than this the older half is forgotten: who is further behind builds itself anew."""


class Touched:
    """A list of node names that only grows; its readers keep their own place in it."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._forgotten = 0

    def add(self, node: str) -> None:
        """Notes that something about the node changed."""
        self._names.append(node)
        if len(self._names) > LONGEST:
            self._forget()

    def update(self, nodes: Iterable[str]) -> None:
        """Notes that something about each of these nodes changed."""
        self._names.extend(nodes)
        if len(self._names) > LONGEST:
            self._forget()

    def add_all(self) -> None:
        """Notes that anything may have changed: all readers start anew."""
        self._forgotten += len(self._names) + 1
        self._names.clear()

    def since(self, place: int) -> tuple[list[str] | None, int]:
        """The nodes that changed behind that place, or None if that is no longer known; and the end."""
        if place < self._forgotten:
            return None, self.end
        return self._names[place - self._forgotten :], self.end

    def since_only(self, place: int, node: str) -> int | None:
        """The end, if nothing but this node changed behind that place; None otherwise."""
        if place < self._forgotten:
            return None
        changed = self._names[place - self._forgotten :]
        if changed.count(node) != len(changed):
            return None
        return place + len(changed)

    @property
    def end(self) -> int:
        """The place behind all that changed so far."""
        return self._forgotten + len(self._names)

    def _forget(self) -> None:
        surplus = len(self._names) - LONGEST // 2
        self._forgotten += surplus
        del self._names[:surplus]
