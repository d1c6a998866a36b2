"""How many devices of each node are free for a shape of request: the index that finds a node.

A count is an upper bound of what a search can find there, and exact for whole devices without
shared counters. Nodes stand in one mask per count, so that the next fitting node is one operation
on a whole number and no node is looked at that cannot be it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from dra_allocator.core.node_book import NodeBook
from dra_allocator.core.plain import busy
from dra_allocator.core.pool_book import MOST_CONTENTS, PoolBook
from dra_allocator.core.search.candidates import candidates
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.selectors import Selectors
from dra_allocator.core.search.shapes import RequestShape
from dra_allocator.core.touched import Touched

MOST_SHAPES: Final = 256
"""Shapes remembered; beyond that the oldest is forgotten and worked out again when needed."""

Score = Callable[[int], int]
"""Orders nodes by how many devices they have free: the lowest score is tried first."""


class CountBook:
    """Counts of all shapes that were asked for."""

    def __init__(
        self,
        nodes: NodeBook,
        pools: PoolBook,
        in_use: InUse,
        selectors: Selectors,
        touched: Touched,
    ) -> None:
        self._nodes = nodes
        self._pools = pools
        self._in_use = in_use
        self._selectors = selectors
        self._touched = touched
        self._counts: dict[tuple[RequestShape, bool], FreeCounts] = {}

    def of(self, shape: RequestShape, *, admin: bool = False) -> "FreeCounts":
        """The counts for a shape, as of now. With `admin`, devices in use count as free."""
        counts = self._counts.get((shape, admin))
        if counts is None:
            if len(self._counts) >= MOST_SHAPES:
                del self._counts[next(iter(self._counts))]
            counts = FreeCounts(self._nodes, self._touched, self._counter(shape, admin=admin))
            self._counts[shape, admin] = counts
        counts.catch_up()
        return counts

    def _counter(self, shape: RequestShape, *, admin: bool) -> Callable[[str], int]:
        masks: dict[int, int] = {}

        def mask_of(pool: Pool, content: int) -> int:
            """Devices that may serve the shape, worked out once for pools with equal contents."""
            mask = masks.get(content)
            if mask is None:
                if len(masks) >= MOST_CONTENTS:
                    masks.clear()
                found = candidates(pool, shape, self._selectors)
                mask = masks[content] = found.usable | found.failed
            return mask

        def count(node: str) -> int:
            view = self._nodes.view(node)
            pools = self._pools.pools_of(view)
            total = 0
            for pool, content in zip(pools, self._pools.contents_of(view), strict=True):
                if pool.fault is None:
                    held = 0 if admin else busy(pool, self._in_use)
                    total += (mask_of(pool, content) & ~held).bit_count()
            return total

        return count


class FreeCounts:
    """The nodes by their count for one shape."""

    def __init__(self, nodes: NodeBook, touched: Touched, count: Callable[[str], int]) -> None:
        self._nodes = nodes
        self._touched = touched
        self._count = count
        self._place = -1
        self._by_node: list[int] = []
        self._masks: dict[int, int] = {}

    def catch_up(self) -> None:
        """Counts the nodes that changed."""
        changed = self._touched.since(self._place)
        if changed is None:
            self._rebuild()
        elif changed:
            for name in set(changed):
                self._update(name)
        self._place = self._touched.end

    def with_at_least(self, need: int) -> int:
        """The nodes that may have so many free devices."""
        mask = 0
        for count, nodes in self._masks.items():
            if count >= need:
                mask |= nodes
        return mask

    def in_order(self, need: int, allowed: int, score: Score) -> Iterator[str]:
        """Allowed nodes with at least that many: by score of their count, then by name."""
        for mask in self._scored(need, score):
            yield from self._nodes.named(mask & allowed)

    def by_node(self) -> dict[str, int]:
        """The counts of all nodes."""
        return dict(zip(self._nodes.names, self._by_node, strict=True))

    def _scored(self, need: int, score: Score) -> Iterable[int]:
        masks: dict[int, int] = {}
        for count, nodes in self._masks.items():
            if count >= need and nodes:
                masks[score(count)] = masks.get(score(count), 0) | nodes
        return (masks[key] for key in sorted(masks))

    def _rebuild(self) -> None:
        self._by_node = [self._count(name) for name in self._nodes.names]
        self._masks = {
            count: _mask(other == count for other in reversed(self._by_node))
            for count in set(self._by_node)
        }

    def _update(self, name: str) -> None:
        number = self._nodes.numbers.get(name)
        if number is None:
            return
        before, after = self._by_node[number], self._count(name)
        if before != after:
            bit = 1 << number
            self._by_node[number] = after
            self._masks[before] ^= bit
            self._masks[after] = self._masks.get(after, 0) | bit


def _mask(flags: Iterable[bool]) -> int:
    return int("".join("1" if flag else "0" for flag in flags) or "0", 2)
