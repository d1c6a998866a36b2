"""How many devices of each node are free for a shape of request: the index that finds a node.

A count is an upper bound of what a search can find there: devices that would do one by one, as
far as whole devices, capacity and counters go. Nodes stand in one mask per count, so that the next fitting node is one operation
on a whole number and no node is looked at that cannot be it. Pools that many nodes see are counted
once, when asked, for all their nodes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from dra_allocator.core.books.node_book import NodeBook
from dra_allocator.core.books.pool_book import PoolBook
from dra_allocator.core.books.touched import Touched
from dra_allocator.core.search.candidates import candidates
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.left import left
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.selectors import Selectors
from dra_allocator.core.search.shapes import RequestShape

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
            nobody = None if admin else self._in_use
            offer = Offer(self._pools, shape, self._selectors, nobody)
            counts = self._counts[shape, admin] = FreeCounts(self._nodes, self._touched, offer)
        counts.catch_up()
        return counts


class Offer:
    """What pools have for one shape. Without `in_use` nothing counts as taken."""

    def __init__(
        self, pools: PoolBook, shape: RequestShape, selectors: Selectors, in_use: InUse | None
    ) -> None:
        self._pools = pools
        self._shape = shape
        self._selectors = selectors
        self._in_use = in_use

    def local(self, node: NodeView) -> int:
        """Free devices in the pools that only this node sees."""
        total = 0
        for pool in self._pools.pools_of(node, smallest=True):
            if pool.fault is None and pool.id not in self._pools.wide:
                total += self.free(pool)
        return total

    def wide(self, node: NodeView) -> tuple[Pool, ...]:
        """The pools that other nodes see too."""
        if not self._pools.wide:
            return ()
        seen = self._pools.pools_of(node)
        return tuple(p for p in seen if p.fault is None and p.id in self._pools.wide)

    def free(self, pool: Pool) -> int:
        """Free devices of a pool."""
        found = candidates(pool, self._shape, self._selectors)
        if self._in_use is None:
            return (found.usable | found.failed).bit_count()
        return left(pool, found, self._in_use.of(pool.id)).bit_count()


class FreeCounts:
    """The nodes by their count for one shape."""

    def __init__(self, nodes: NodeBook, touched: Touched, offer: Offer) -> None:
        self._nodes = nodes
        self._touched = touched
        self._offer = offer
        self._place = -1
        self._by_node: list[int] = []
        self._masks: dict[int, int] = {}
        self._orders: dict[tuple[int, Score], list[tuple[int, int]]] = {}
        self._wide: dict[Pool, int] = {}
        """Pools that many nodes see, and those nodes."""

    def catch_up(self) -> None:
        """Counts the nodes that changed."""
        changed, end = self._touched.since(self._place)
        if changed is None:
            self._rebuild()
        elif changed:
            for name in set(changed):
                self._update(name)
        self._place = end

    def with_at_least(self, need: int) -> int:
        """The nodes that may have so many free devices."""
        mask = 0
        for count, nodes in self._totals().items():
            if count >= need:
                mask |= nodes
        return mask

    def in_order(self, need: int, allowed: int, score: Score) -> Iterator[str]:
        """Allowed nodes with at least that many: by score of their count, then by name."""
        totals = self._totals()
        mask, last = 0, 0
        for rank, count in self._order(need, score, totals):
            if mask and rank != last:
                yield from self._nodes.named(mask)
                mask = 0
            last = rank
            mask |= totals[count] & allowed
        yield from self._nodes.named(mask)

    def by_node(self) -> dict[str, int]:
        """The counts of all nodes."""
        return {
            name: count
            for count, nodes in self._totals().items()
            for name in self._nodes.named(nodes)
        }

    def _totals(self) -> dict[int, int]:
        """The nodes by the sum of what only they and what many nodes see."""
        if not self._wide:
            return self._masks
        parts = {0: (1 << len(self._by_node)) - 1}
        for pool, nodes in self._wide.items():
            free = self._offer.free(pool)
            parts = _sums(parts, {free: nodes, 0: ~nodes}) if free else parts
        return _sums(self._masks, parts)

    def _order(self, need: int, score: Score, totals: Mapping[int, int]) -> list[tuple[int, int]]:
        """The counts that are enough, each with its score, in order of it."""
        known = None if self._wide else self._orders.get((need, score))
        if known is None:
            known = sorted((score(count), count) for count in totals if count >= need)
            if not self._wide:
                self._orders[need, score] = known
        return known

    def _rebuild(self) -> None:
        views = [self._nodes.view(name) for name in self._nodes.names]
        self._by_node = [self._offer.local(view) for view in views]
        self._masks = {
            count: _mask(other == count for other in reversed(self._by_node))
            for count in set(self._by_node)
        }
        self._orders.clear()
        self._wide = {}
        for number, view in enumerate(views):
            for pool in self._offer.wide(view):
                self._wide[pool] = self._wide.get(pool, 0) | 1 << number

    def _update(self, name: str) -> None:
        number = self._nodes.numbers.get(name)
        if number is None:
            return
        view = self._nodes.view(name)
        before, after = self._by_node[number], self._offer.local(view)
        bit = 1 << number
        if before != after:
            self._by_node[number] = after
            self._masks[before] ^= bit
            if after not in self._masks:
                self._orders.clear()
            self._masks[after] = self._masks.get(after, 0) | bit
        self._update_wide(view, bit)

    def _update_wide(self, view: NodeView, bit: int) -> None:
        seen = self._offer.wide(view)
        if not seen and not self._wide:
            return
        for pool, nodes in tuple(self._wide.items()):
            self._wide[pool] = nodes & ~bit
        for pool in seen:
            self._wide[pool] = self._wide.get(pool, 0) | bit


def _sums(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    """Masks by the sums of the counts that two sets of masks give each bit."""
    sums: dict[int, int] = {}
    for count, nodes in one.items():
        for more, part in other.items():
            if nodes & part:
                sums[count + more] = sums.get(count + more, 0) | (nodes & part)
    return sums


def _mask(flags: Iterable[bool]) -> int:
    return int("".join("1" if flag else "0" for flag in flags) or "0", 2)
