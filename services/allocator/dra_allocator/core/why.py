"""Why a pod could not be placed: a reason for each device of each node, summed.

The counts of all reasons sum to all devices of all nodes, and do not depend on the order in which
nodes were tried. What keeps a pod off a node keeps it from all of the node's devices.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, NamedTuple

from dra_allocator.core.books.node_book import NodeBook
from dra_allocator.core.books.touched import Touched
from dra_allocator.core.demand import Demand
from dra_shared.events.allocations import ClaimUnsatisfiable, Reason, ReasonKind, Refusal

Why = tuple[ReasonKind, str]
"""A kind of reason and its detail."""

Tally = dict[Why, int]
"""Devices of one node by reason."""

MOST_KINDS: Final = 64
"""Kinds of refused demand whose reasons are kept."""

MOST_LIKENESSES: Final = 4096
"""Kinds of nodes that are told apart before the first ones are worked out again."""

MOST_REASONS: Final = 100
"""Reasons in a fact, which has to fit into the log; the smaller ones are added up by their kind."""

LONGEST_DETAIL: Final = 1000
"""Characters of a detail. A selector may have 10,000, and each request many of them."""

MORE: Final = "and others"
"""The detail of reasons that were added up."""

MOST_SHOWN: Final = 6
"""Reasons in a summary; the rest is counted together."""

_WORDS: Final = {
    ReasonKind.IN_USE: "in use",
    ReasonKind.TAINTED: "tainted",
    ReasonKind.SELECTOR_FALSE: "not selected",
    ReasonKind.SELECTOR_ERROR: "with a selector error",
    ReasonKind.CAPACITY: "without enough capacity",
    ReasonKind.COUNTERS: "without enough counters",
    ReasonKind.CONSTRAINT: "against a constraint",
    ReasonKind.POOL_INCOMPLETE: "in incomplete pools",
    ReasonKind.POOL_INVALID: "in invalid pools",
    ReasonKind.NODE_UNFIT: "on nodes that do not fit",
    ReasonKind.UNSUPPORTED: "not supported",
    ReasonKind.NOT_ENOUGH: "free, but too few on a node",
    ReasonKind.NO_DEVICES: "no devices",
}
_DETAILED: Final = frozenset(
    {
        ReasonKind.IN_USE,
        ReasonKind.TAINTED,
        ReasonKind.NODE_UNFIT,
        ReasonKind.CONSTRAINT,
        ReasonKind.POOL_INCOMPLETE,
        ReasonKind.POOL_INVALID,
    }
)
"""Reasons that a line about them names in detail."""


class Sum(NamedTuple):
    """How many devices a reason concerns, on how many nodes."""

    devices: int
    nodes: int


class ReasonBook:
    """The sum of all nodes' reasons for one kind of demand, caught up when asked."""

    def __init__(self, nodes: NodeBook, touched: Touched) -> None:
        self._nodes = nodes
        self._touched = touched
        self._place = -1
        self._by_node: dict[str, Tally] = {}
        self._sums: dict[Why, Sum] = {}
        self._known: dict[Hashable, Tally] = {}

    def once(self, likeness: Hashable | None, explain: Callable[[], Tally]) -> Tally:
        """The reasons of one node, worked out once for all nodes of the same likeness."""
        known = None if likeness is None else self._known.get(likeness)
        if known is None:
            known = explain()
            if len(self._known) >= MOST_LIKENESSES:
                self._known.clear()
            if likeness is not None:
                self._known[likeness] = known
        return known

    def sums(self, explain: Callable[[str], Tally]) -> dict[Why, Sum]:
        """The sums as of now; `explain` gives the reasons of one node."""
        changed, end = self._touched.since(self._place)
        if changed is None:
            self._by_node.clear()
            self._sums.clear()
            changed = list(self._nodes.names)
        for name in set(changed):
            self._count(self._by_node.pop(name, {}), -1)
            if name in self._nodes.numbers:
                self._by_node[name] = tally = explain(name)
                self._count(tally, 1)
        self._place = end
        return self._sums

    def _count(self, tally: Tally, sign: int) -> None:
        for why, devices in tally.items():
            before = self._sums.pop(why, Sum(0, 0))
            after = Sum(before.devices + sign * devices, before.nodes + sign)
            if after.nodes:
                self._sums[why] = after


class ReasonBooks:
    """A book for each kind of demand; beyond `MOST_KINDS` the oldest is forgotten."""

    def __init__(self, nodes: NodeBook, touched: Touched) -> None:
        self._nodes = nodes
        self._touched = touched
        self._books: dict[Hashable, ReasonBook] = {}

    def of(self, kind: Hashable | None) -> ReasonBook:
        """The book of a kind; a new one for what is its own kind."""
        book = self._books.get(kind)
        if book is None:
            book = ReasonBook(self._nodes, self._touched)
            if len(self._books) >= MOST_KINDS:
                del self._books[next(iter(self._books))]
            if kind is not None:
                self._books[kind] = book
        return book

    def clear(self) -> None:
        """What all of them say is different now."""
        self._books.clear()


def refusal(
    demand: Demand, kind: Refusal, sums: Mapping[Why, Sum], *, nodes: int, message: str = ""
) -> ClaimUnsatisfiable:
    """The fact that a pod cannot be placed, with its reasons in order and one line about them."""
    ordered = _in_order(_short(sums))
    return ClaimUnsatisfiable(
        pod=demand.pod.request.pod,
        claims=demand.refs,
        refusal=kind,
        reasons=tuple(
            Reason(kind=reason, detail=detail, devices=found.devices)
            for (reason, detail), found in ordered
        ),
        devices=sum(found.devices for _, found in ordered),
        nodes=nodes,
        summary=message or summary(ordered, nodes),
    )


def _in_order(sums: Mapping[Why, Sum]) -> list[tuple[Why, Sum]]:
    return sorted(sums.items(), key=lambda item: (-item[1].devices, item[0]))


def _short(sums: Mapping[Why, Sum]) -> Mapping[Why, Sum]:
    """The sums with details that are not too long, and not too many of them: the total is the same."""
    if len(sums) <= MOST_REASONS and all(len(detail) <= LONGEST_DETAIL for _, detail in sums):
        return sums
    short: dict[Why, Sum] = {}
    for (kind, detail), found in sums.items():
        _add(short, (kind, _cut(detail)), found)
    ordered = _in_order(short)
    kept = dict(ordered[:MOST_REASONS])
    for (kind, _), found in ordered[MOST_REASONS:]:
        _add(kept, (kind, MORE), found)
    return kept


def _cut(detail: str) -> str:
    return detail if len(detail) <= LONGEST_DETAIL else f"{detail[:LONGEST_DETAIL]}…"


def _add(sums: dict[Why, Sum], why: Why, more: Sum) -> None:
    before = sums.get(why, Sum(0, 0))
    sums[why] = Sum(before.devices + more.devices, before.nodes + more.nodes)


def says_the_same(one: ClaimUnsatisfiable, other: ClaimUnsatisfiable) -> bool:
    """Whether two refusals of a pod give the same reasons, however many devices each concerns.

    Numbers change with every pod that comes and goes; written each time, they would fill the log.
    """
    if one.refusal is not other.refusal or one.claims != other.claims:
        return False
    if one.refusal is not Refusal.UNSATISFIABLE and one.summary != other.summary:
        return False
    return _reasons(one) == _reasons(other)


def _reasons(refusal: ClaimUnsatisfiable) -> set[Why]:
    return {(reason.kind, reason.detail) for reason in refusal.reasons}


def summary(sums: Iterable[tuple[Why, Sum]], nodes: int) -> str:
    """One line, most devices first: `0/3 nodes can satisfy: 12 devices in use, 4 tainted (broken)`."""
    devices: Counter[str] = Counter()
    without: Counter[str] = Counter()
    for why, found in sums:
        if found.devices:
            devices[_words(*why)] += found.devices
        else:
            without[_words(*why)] += found.nodes
    shown = devices.most_common(MOST_SHOWN)
    parts = [f"{count} {words}" for words, count in shown]
    rest = devices.total() - sum(count for _, count in shown)
    if rest:
        parts.append(f"{rest} for other reasons")
    if parts:
        first = shown[0][1]
        parts[0] = parts[0].replace(" ", " device " if first == 1 else " devices ", 1)
    parts += [
        f"{words} on {count} {'node' if count == 1 else 'nodes'}"
        for words, count in without.most_common(MOST_SHOWN)
    ]
    return f"0/{nodes} nodes can satisfy: {', '.join(parts) or 'there are no nodes'}"


def _words(kind: ReasonKind, detail: str) -> str:
    words = _WORDS[kind]
    return f"{words} ({detail})" if detail and kind in _DETAILED else words
