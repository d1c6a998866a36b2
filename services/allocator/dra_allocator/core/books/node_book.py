"""The nodes in order, what our placed pods take of them, and which node fits which placement.

Nodes are numbered by name; bit i of a mask stands for the node with number i. Knows no devices.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from dra_allocator.core.books.touched import Touched
from dra_allocator.core.fold.registers import Registers
from dra_allocator.core.placement import NOTHING_TAKEN, Taken, why_unfit
from dra_allocator.core.search.nodes import NodeView
from dra_shared.events.fact import Placement

MOST_PLACEMENTS: Final = 256
"""Placements remembered; beyond that the oldest is forgotten and worked out again when needed."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class NodeBook:
    """Nodes by number and by name."""

    def __init__(self, registers: Registers, touched: Touched) -> None:
        self._registers = registers
        self._touched = touched
        self._names: tuple[str, ...] | None = None
        self._numbers: dict[str, int] = {}
        self._views: dict[str, NodeView] = {}
        self._taken: dict[str, Taken] | None = None
        self._counted: dict[str, tuple[str, Placement]] = {}
        self._fits: dict[bytes, FitIndex] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All nodes in the order of their numbers."""
        if self._names is None:
            self._names = tuple(sorted(self._registers.nodes))
            self._numbers = {name: number for number, name in enumerate(self._names)}
        return self._names

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each node, by name."""
        if self._names is None:
            assert self.names is not None
        return self._numbers

    def bit(self, name: str) -> int:
        """The mask of one node; 0 if it is not there."""
        number = self.numbers.get(name)
        return 0 if number is None else 1 << number

    def named(self, mask: int) -> Iterator[str]:
        """The names of a mask's nodes, in order."""
        names = self.names
        while mask:
            lowest = mask & -mask
            yield names[lowest.bit_length() - 1]
            mask ^= lowest

    def view(self, name: str) -> NodeView:
        """The node as the search sees it."""
        view = self._views.get(name)
        if view is None:
            node = self._registers.nodes.get(name)
            assert node is not None
            view = self._views[name] = NodeView(
                name=name,
                labels=node.labels,
                declared_features=frozenset(node.declared_features or ()),
            )
        return view

    def fit(self, placement: Placement) -> "FitIndex":
        """Where such a pod could run, devices aside."""
        key = _ENCODER.encode(placement)
        index = self._fits.get(key)
        if index is None:
            if len(self._fits) >= MOST_PLACEMENTS:
                del self._fits[next(iter(self._fits))]
            index = self._fits[key] = FitIndex(self, self._touched, placement)
        return index

    def why_unfit(self, name: str, placement: Placement) -> str | None:
        """What keeps such a pod off the node, or None."""
        node = self._registers.nodes.get(name)
        if node is None:
            return "node gone"
        all_taken = self._taken if self._taken is not None else self._count_all()
        taken = all_taken.get(name, NOTHING_TAKEN)
        return why_unfit(placement, node, taken, lost=name in self._registers.lost)

    def forget(self, name: str, *, order: bool) -> None:
        """The node changed; `order`: it came or went."""
        self._views.pop(name, None)
        if order:
            self._names = None
            self._touched.add_all()
        else:
            self._touched.add(name)

    def recount(self, pod_uid: str) -> None:
        """The pod came, went, or was placed: counts what it takes of which node."""
        taken = self._taken
        if taken is None:
            taken = self._count_all()  # which counts this pod too
        before = self._counted.get(pod_uid)
        pod = self._registers.pods.get(pod_uid)
        placed = self._registers.placed.get(pod_uid)
        after = (placed.node, pod.request.placement) if pod and placed else None
        if before == after:
            return
        if before is not None:
            del self._counted[pod_uid]
            self._count(taken, *before, sign=-1)
        if after is not None:
            self._counted[pod_uid] = after
            self._count(taken, *after, sign=1)

    def taken(self) -> dict[str, Taken]:
        """What our pods take, by node."""
        all_taken = self._taken if self._taken is not None else self._count_all()
        return {name: taken for name, taken in all_taken.items() if taken.pods}

    def _count_all(self) -> dict[str, Taken]:
        """Counts what all our pods take at once, when somebody asks first."""
        all_taken: dict[str, Taken] = {}
        self._taken = all_taken
        pods = self._registers.pods.view
        for pod_uid, placed in self._registers.placed.items():
            if (pod := pods.get(pod_uid)) is not None:
                placement = pod.request.placement
                self._counted[pod_uid] = (placed.node, placement)
                taken = all_taken.get(placed.node)
                if taken is None:
                    taken = all_taken[placed.node] = Taken()
                taken.add(placement, 1)
        return all_taken

    def _count(
        self, taken: dict[str, Taken], name: str, placement: Placement, *, sign: int
    ) -> None:
        if name not in taken:
            taken[name] = Taken()
        taken[name].add(placement, sign)
        self._touched.add(name)


class FitIndex:
    """Which nodes fit one placement, caught up when asked."""

    def __init__(self, nodes: NodeBook, touched: Touched, placement: Placement) -> None:
        self._nodes = nodes
        self._touched = touched
        self._placement = placement
        self._mask = 0
        self._place = -1

    def mask(self) -> int:
        """The mask of all nodes that fit now."""
        changed, end = self._touched.since(self._place)
        if changed is None:
            flags = ("0" if self._is_unfit(name) else "1" for name in reversed(self._nodes.names))
            self._mask = int("".join(flags) or "0", 2)
        elif changed:
            for name in set(changed):
                self._update(name)
        self._place = end
        return self._mask

    def _update(self, name: str) -> None:
        bit = self._nodes.bit(name)
        if self._is_unfit(name):
            self._mask &= ~bit
        else:
            self._mask |= bit

    def _is_unfit(self, name: str) -> bool:
        return self._nodes.why_unfit(name, self._placement) is not None
