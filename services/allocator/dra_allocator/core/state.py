"""What the allocator knows while it runs: the registers, and what is kept in step with them.

Only `apply` changes it. Everything beside the registers is derived: it answers faster than the
registers would, and a test holds it against one built anew.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dra_allocator.core.books.cards import Cards, cards_of
from dra_allocator.core.books.counts import CountBook
from dra_allocator.core.books.kinds import Kind, KindBook
from dra_allocator.core.books.node_book import NodeBook
from dra_allocator.core.books.pool_book import PoolBook
from dra_allocator.core.books.taint_rules import concerns
from dra_allocator.core.books.touched import Touched
from dra_allocator.core.demand import Demand
from dra_allocator.core.fold.evolve import evolve, fold, undo
from dra_allocator.core.fold.register import Change
from dra_allocator.core.fold.registers import (
    HeldCosts,
    PoolKey,
    Refused,
    Registers,
    state_hash,
)
from dra_allocator.core.fold.snapshot import Snapshot
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.plan import Problem
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.selectors import Selectors
from dra_allocator.core.why import ReasonBook, ReasonBooks
from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.cluster import NodeObserved
from dra_shared.events.envelope import Envelope
from dra_shared.kube.claims import DeviceTaintRule, ResourceClaim
from dra_shared.log.protocol import Record

NOWHERE: Final = NodeView(name="")
"""Where a problem needs a node that nobody looks at."""


class ClusterState:
    """The cluster as the facts so far tell it. `sequence`, `time_ns`: of the newest record.

    `pools` to `reasons` are read from the registers when they are asked for first, and from then on
    kept in step with them. They are plain attributes then, which Python finds fastest.
    """

    pools: PoolBook
    cards: Cards
    nodes: NodeBook
    kinds: KindBook
    counts: CountBook
    reasons: ReasonBooks

    def __init__(self, selectors: Selectors) -> None:
        self.registers = Registers()
        self.sequence = 0
        self.time_ns = 0
        self.selectors = selectors
        self.in_use = InUse()
        self.touched = Touched()
        self._reasons: dict[tuple[Kind, bool], ReasonBook] = {}
        self._before: list[Refused | None] = []

    def start_from(self, snapshot: Snapshot) -> None:
        """Takes a snapshot in instead of all records up to its place; the first thing, if at all.

        Raises DamagedSnapshotError, and then the state is good for nothing.
        """
        snapshot.fill(self.registers)
        place = snapshot.head.place
        self.sequence, self.time_ns = place.sequence, place.time_ns

    def fold(self, records: Sequence[Record]) -> None:
        """Takes in records in the registers alone: `begin` has to follow before anything else."""
        fold(self.registers, records)
        for record in records[-1:]:
            self.see(record)

    def begin(self) -> None:
        """Builds what has to be kept in step with the registers from now on, all at once.

        At a start that is several times faster than to follow each fact since the log began. The
        rest is read from the registers when somebody asks for it first.
        """
        holdings = self.registers.holdings.parts(HeldCosts)
        self.in_use.fill(cost for holding in holdings for cost in holding.costs)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """What is derived from the registers, when it is asked for first."""
            derive = _DERIVED.get(name)
            if derive is None:
                raise AttributeError(name)
            setattr(self, name, derive(self))
            return getattr(self, name)

    def apply(self, record: Record) -> list[Change]:
        """Takes in a record of the log and gives what it changed.

        A record whose fact was taken in before it stood in the log (`apply_own`) is only `seen`.
        """
        self.see(record)
        evolve(self.registers, record.envelope, record.sequence)
        return self._follow()

    def apply_own(self, envelope: Envelope) -> list[Change]:
        """Takes in a decision of the allocator before it stands in the log."""
        evolve(self.registers, envelope, envelope.cause)
        return self._follow()

    def try_on(self, fact: ClaimAllocated) -> None:
        """Takes in an allocation for trial only: `take_off` undoes it, the last one first."""
        self._before.append(self.registers.refusals.get(fact.pod.uid))
        self.apply_own(Envelope(id="trial", cause=self.sequence, actor="trial", fact=fact))

    def take_off(self, fact: ClaimAllocated) -> None:
        """Undoes the last `try_on`: the state is what it was before."""
        undo(self.registers, fact, self._before.pop())
        self._follow()

    def see(self, record: Record) -> None:
        """Moves on to the record without applying it."""
        self.sequence, self.time_ns = record.sequence, record.time_ns

    def hash(self) -> str:
        """The digest of everything that facts can change."""
        return state_hash(self.registers)

    def problem(
        self, node: NodeView, pools: tuple[Pool, ...], claims: tuple[ResourceClaim, ...]
    ) -> Problem:
        """What a search for these claims on this node looks at."""
        return Problem(
            node=node,
            pools=pools,
            claims=claims,
            classes=self.registers.classes.view,
            in_use=self.in_use,
            features=self.pools.features(),
            selectors=self.selectors,
        )

    def likeness(self, node: NodeView) -> Hashable | None:
        """A key that nodes share whose pools have the same in them, used in the same way.

        Searches give the same answers there, apart from names. None where a pool cannot be used,
        since the reason for that names the pool.
        """
        pools = self.pools.pools_of(node)
        if any(pool.fault is not None for pool in pools):
            return None
        uses = tuple(self.in_use.of(pool.id).likeness() for pool in pools)
        return self.pools.contents_of(node), uses

    def kind_of(self, demand: Demand) -> Kind | None:
        """What the pod asks for: pods of one kind get the same answer. None if it is its own kind."""
        registers = self.registers
        if demand.held:
            return None
        if len(registers.unfit) or len(registers.write_refused):
            uids = demand.uids
            if not uids.isdisjoint(registers.write_refused):
                return None
            if any(not uids.isdisjoint(excluded) for _, excluded in registers.unfit.items()):
                return None
        return self.kinds.of(demand)

    def reasons_of(self, demand: Demand, *, strict_cards: bool) -> ReasonBook:
        """Where the reasons against such a pod are summed; shared by all of its kind."""
        kind = self.kind_of(demand)
        return self.reasons.of(None if kind is None else (kind, strict_cards))

    def forget_readings(self) -> None:
        """Classes or features changed, which claims are read by."""
        self.reasons.clear()
        self.kinds.forget_plans()

    def _follow(self) -> list[Change]:
        """Brings all that is kept in step with the registers."""
        changes = self.registers.take_changes()
        for change in changes:
            follow = _FOLLOWS.get(change.register)
            if follow is not None:
                follow(self, change)
        return changes

    def reread_pool(self, key: PoolKey) -> None:
        """A pool, or a rule about it, changed."""
        self._touch(self.pools.forget_pool(key))

    def touch_pool(self, key: PoolKey) -> None:
        """Some device of a pool was taken or given back; wide pools are counted when asked."""
        nodes = self.pools.nodes_seeing(key)
        if nodes is None:
            self.reasons.clear()
        else:
            self.touched.update(nodes)

    def _touch(self, nodes: frozenset[str] | None) -> None:
        if nodes is None:
            self.touched.add_all()
        else:
            self.touched.update(nodes)


def _holding(state: ClusterState, change: Change) -> None:
    if change.old is not None:
        for key in state.in_use.give_back(change.old.costs):
            state.touch_pool(key)
    if change.new is not None:
        for key in state.in_use.hold(change.new.costs):
            state.touch_pool(key)


def _pod(state: ClusterState, change: Change) -> None:
    state.kinds.forget_pod(change.key)
    state.nodes.recount(change.key)


def _node(state: ClusterState, change: Change) -> None:
    old, new = change.old, change.new
    if old is None or new is None or _looks_different(old, new):
        state.pools.forget_node(change.key)
    state.nodes.forget(change.key, order=old is None or new is None)


def _looks_different(old: NodeObserved, new: NodeObserved) -> bool:
    return old.labels != new.labels or old.declared_features != new.declared_features


def _liveness(state: ClusterState, change: Change) -> None:
    state.touched.add(change.key)


def _pool(state: ClusterState, change: Change) -> None:
    state.reread_pool(change.key)
    state.cards.read(state.registers, change.key)


def _taint_rule(state: ClusterState, change: Change) -> None:
    rules: list[DeviceTaintRule] = [rule for rule in (change.old, change.new) if rule]
    for key in state.pools.all_keys():
        if any(concerns(rule, *key) for rule in rules):
            state.reread_pool(key)


def _features(state: ClusterState, _: Change) -> None:
    for key in state.pools.all_keys():
        state.pools.forget_pool(key)
    state.forget_readings()
    state.touched.add_all()


def _class(state: ClusterState, _: Change) -> None:
    state.forget_readings()


_DERIVED: Final[Mapping[str, Callable[[ClusterState], object]]] = MappingProxyType(
    {
        "pools": lambda state: PoolBook(state.registers),
        "cards": lambda state: cards_of(state.registers),
        "nodes": lambda state: NodeBook(state.registers, state.touched),
        "kinds": lambda state: KindBook(
            state.nodes, lambda claims: state.problem(NOWHERE, (), claims)
        ),
        "counts": lambda state: CountBook(
            state.nodes, state.pools, state.in_use, state.selectors, state.touched
        ),
        "reasons": lambda state: ReasonBooks(state.nodes, state.touched),
    }
)

_FOLLOWS: Final[Mapping[str, Callable[[ClusterState, Change], None]]] = MappingProxyType(
    {
        "holdings": _holding,
        "placed": _pod,
        "pods": _pod,
        "nodes": _node,
        "lost": _liveness,
        "pools": _pool,
        "foreign": _pool,
        "taint_rules": _taint_rule,
        "features": _features,
        "classes": _class,
    }
)
