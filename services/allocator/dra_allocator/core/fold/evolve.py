"""How each fact changes the registers: the fold, and the whole of it. No decision, no index.

A fact that the allocator has no use for changes nothing; which ones those are stands in
`IGNORED`, and a test checks that every fact is in one of the two places.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from dra_allocator.core.fold.once import share_node
from dra_allocator.core.fold.registers import (
    Holding,
    PendingPod,
    Placed,
    Refused,
    Registers,
    Shown,
    WriteRefused,
)
from dra_allocator.core.search.nodes import one_node
from dra_shared.events import allocations, claims, cluster, mirror, nodes, pools, writers
from dra_shared.events.envelope import Envelope, UnknownFact, UnreadableFact
from dra_shared.events.fact import Fact
from dra_shared.log.protocol import Record

_OWN: Final = frozenset(allocations.AllocationFact.__args__)
BRIDGE: Final = "api-bridge"


def evolve(registers: Registers, envelope: Envelope, sequence: int) -> None:
    """Applies one fact that stands at `sequence`; the allocator's own facts do not depend on it."""
    fact = envelope.fact
    apply = APPLIES.get(type(fact))
    if apply is not None:
        apply(registers, fact, envelope.cause if type(fact) in _OWN else sequence)


def fold(registers: Registers, records: Iterable[Record]) -> None:
    """Applies what stands in the log, for those who keep nothing in step: no changes are noted."""
    registers.changes.heard = False
    for record in records:
        evolve(registers, record.envelope, record.sequence)
    registers.changes.heard = True


def is_own(fact: Fact) -> bool:
    """Whether the allocator writes such facts."""
    return type(fact) in _OWN


def _claim_requested(r: Registers, fact: claims.ClaimRequested, _: int) -> None:
    r.specs.share(fact)
    r.claims.put(fact.claim.uid, fact)


def _claim_withdrawn(r: Registers, fact: claims.ClaimWithdrawn, _: int) -> None:
    uid = fact.claim.uid
    r.claims.drop(uid)
    r.shown.drop(uid)
    r.write_refused.drop(uid)
    for node, excluded in tuple(r.unfit.items()):
        if uid in excluded:
            _set_unfit(r, node, set(excluded) - {uid})


def _pod_requested(r: Registers, fact: claims.PodRequested, sequence: int) -> None:
    known = r.pods.get(fact.pod.uid)
    r.pods.put(fact.pod.uid, PendingPod(fact, known.arrival if known else sequence))


def _pod_withdrawn(r: Registers, fact: claims.PodWithdrawn, _: int) -> None:
    r.pods.drop(fact.pod.uid)
    r.refusals.drop(fact.pod.uid)
    r.placed.drop(fact.pod.uid)


def _node_observed(r: Registers, fact: cluster.NodeObserved, _: int) -> None:
    if r.nodes.get(fact.name) != fact:
        r.unfit.drop(fact.name)
    r.nodes.put(fact.name, fact)


def _node_removed(r: Registers, fact: cluster.NodeRemoved, _: int) -> None:
    r.unfit.drop(fact.name)
    r.nodes.drop(fact.name)


def _foreign_observed(r: Registers, fact: mirror.ForeignAllocationObserved, sequence: int) -> None:
    r.shown.put(fact.claim.uid, Shown(fact.claim, sequence, fact.allocation))
    r.write_refused.drop(fact.claim.uid)


def _cleared(r: Registers, fact: mirror.AllocationCleared, sequence: int) -> None:
    r.shown.put(fact.claim.uid, Shown(fact.claim, sequence, None))
    r.write_refused.drop(fact.claim.uid)
    if fact.unfit_node is not None:
        excluded = r.unfit.get(fact.unfit_node) or ()
        _set_unfit(r, fact.unfit_node, {*excluded, fact.claim.uid})


def _refused(r: Registers, fact: mirror.AllocationRefused, sequence: int) -> None:
    refused = WriteRefused(sequence, fact.status, fact.message)
    r.write_refused.put(fact.claim.uid, refused)


def _epoch_opened(r: Registers, fact: writers.EpochOpened, _: int) -> None:
    """A new bridge may be allowed what the last one was not: refused writes are tried again."""
    if fact.writer == BRIDGE:
        for uid in tuple(r.write_refused):
            r.write_refused.drop(uid)


def _allocated(r: Registers, fact: allocations.ClaimAllocated, cause: int) -> None:
    """The pod first: when it is known to be placed, nobody asks for its claims on its behalf."""
    pod = r.pods.get(fact.pod.uid)
    if pod is not None and pod.arrival <= cause:
        uids = [got.claim.uid for got in fact.claims]
        if fact.shared:
            uids += [claim.uid for claim in fact.shared]
        r.refusals.drop(fact.pod.uid)
        r.placed.put(fact.pod.uid, Placed(fact.node, tuple(uids)))
    selector = one_node(fact.node)
    for got in fact.claims:
        share_node(got.allocation, selector)
        holding = Holding(got.claim, fact.node, got.allocation, got.costs, cause)
        r.holdings.put(got.claim.uid, holding)


def undo(registers: Registers, fact: allocations.ClaimAllocated, refused: Refused | None) -> None:
    """Takes an allocation back that was applied last; `refused` stood there before it."""
    for got in fact.claims:
        registers.holdings.drop(got.claim.uid)
    registers.placed.drop(fact.pod.uid)
    if refused is not None:
        registers.refusals.put(fact.pod.uid, refused)


def _unsatisfiable(r: Registers, fact: allocations.ClaimUnsatisfiable, cause: int) -> None:
    pod = r.pods.get(fact.pod.uid)
    if pod is None or pod.arrival > cause:
        return
    before = r.refusals.get(fact.pod.uid)
    limited = fact.refusal is allocations.Refusal.SEARCH_LIMIT
    limits = (before.limits if before else 0) + 1 if limited else 0
    r.refusals.put(fact.pod.uid, Refused(fact, limits))


def _released(r: Registers, fact: allocations.ClaimReleased, _: int) -> None:
    r.holdings.drop(fact.claim.uid)
    _unplace_users(r, fact.claim.uid)


def _adopted(r: Registers, fact: allocations.AllocationAdopted, cause: int) -> None:
    holding = Holding(fact.claim, fact.node, fact.allocation, fact.costs, cause, adopted=True)
    r.holdings.put(fact.claim.uid, holding)
    _unplace_users(r, fact.claim.uid)


def _unplace_users(r: Registers, claim_uid: str) -> None:
    for pod_uid in tuple(r.users.get(claim_uid, ())):
        r.placed.drop(pod_uid)


def _set_unfit(r: Registers, node: str, claim_uids: set[str]) -> None:
    if claim_uids:
        r.unfit.put(node, tuple(sorted(claim_uids)))
    else:
        r.unfit.drop(node)


APPLIES: Final[Mapping[type[Fact], Callable[[Registers, Any, int], None]]] = MappingProxyType(
    {
        claims.ClaimRequested: _claim_requested,
        claims.ClaimWithdrawn: _claim_withdrawn,
        claims.PodRequested: _pod_requested,
        claims.PodWithdrawn: _pod_withdrawn,
        cluster.ClassObserved: lambda r, f, _: r.classes.put(
            f.device_class.metadata.name, f.device_class
        ),
        cluster.ClassRemoved: lambda r, f, _: r.classes.drop(f.name),
        cluster.TaintRuleObserved: lambda r, f, _: r.taint_rules.put(f.rule.metadata.name, f.rule),
        cluster.TaintRuleRemoved: lambda r, f, _: r.taint_rules.drop(f.name),
        cluster.NodeObserved: _node_observed,
        cluster.NodeRemoved: _node_removed,
        cluster.ForeignSlicesObserved: lambda r, f, _: r.foreign.put((f.driver, f.pool), f),
        cluster.ForeignSlicesChanged: lambda r, f, _: r.foreign.put(
            (f.driver, f.pool), f.onto(r.foreign.get((f.driver, f.pool)))
        ),
        cluster.ForeignSlicesRemoved: lambda r, f, _: r.foreign.drop((f.driver, f.pool)),
        cluster.FeaturesObserved: lambda r, f, _: r.features.put("", f),
        mirror.ForeignAllocationObserved: _foreign_observed,
        mirror.AllocationCleared: _cleared,
        mirror.AllocationRefused: _refused,
        pools.PoolPublished: lambda r, f, _: r.pools.put((f.driver, f.pool), f),
        pools.PoolWithdrawn: lambda r, f, _: r.pools.drop((f.driver, f.pool)),
        pools.NodeLost: lambda r, f, _: r.lost.put(f.node, f),
        pools.NodeReturned: lambda r, f, _: r.lost.drop(f.node),
        allocations.ClaimAllocated: _allocated,
        allocations.ClaimUnsatisfiable: _unsatisfiable,
        allocations.ClaimReleased: _released,
        allocations.AllocationAdopted: _adopted,
        writers.EpochOpened: _epoch_opened,
    }
)

IGNORED: Final[frozenset[type[Fact]]] = frozenset(
    {
        *nodes.NodeFact.__args__,
        mirror.AllocationWritten,
        mirror.PodUngated,
        mirror.PodRefused,
        mirror.SliceRefused,
        writers.StateRecorded,
        UnknownFact,
        UnreadableFact,
    }
)
