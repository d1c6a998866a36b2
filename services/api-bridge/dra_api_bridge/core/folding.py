"""How each fact of the log changes what is recorded. A fact that is not in the table changes nothing."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dra_api_bridge.core.attempts import FIRST_ERROR
from dra_api_bridge.core.objects import FEATURES, Topic, Work
from dra_api_bridge.core.recorded import (
    ClaimRecord,
    Decision,
    Grant,
    PodRecord,
    PoolRecord,
    Recorded,
    Trouble,
)
from dra_shared.events import allocations, claims, cluster, mirror, pools
from dra_shared.events.envelope import AnyFact
from dra_shared.events.fact import Fact
from dra_shared.log.protocol import Record


def fold(state: Recorded, record: Record) -> tuple[Work, ...]:
    """Takes the next event in; returns what has to be looked at again."""
    fact = record.envelope.fact
    state.applied, state.time_ns = record.sequence, record.time_ns
    known = _FOLDS.get(type(fact))
    return tuple(known(state, fact, record.sequence)) if known is not None else ()


def _claim_requested(state: Recorded, fact: claims.ClaimRequested, at: int) -> Iterable[Work]:
    known = state.claims.get(fact.claim.uid)
    if known is None:
        state.claims[fact.claim.uid] = ClaimRecord(requested=fact, last=at)
    else:
        known.requested, known.last = fact, at
    yield Work(Topic.CLAIM, fact.claim.uid)


def _claim_withdrawn(state: Recorded, fact: claims.ClaimWithdrawn, _: int) -> Iterable[Work]:
    gone = state.claims.pop(fact.claim.uid, None)
    return _lose(state, gone) if gone is not None else ()


def _pod_requested(state: Recorded, fact: claims.PodRequested, at: int) -> Iterable[Work]:
    known = state.pods.get(fact.pod.uid)
    if known is None:
        state.pods[fact.pod.uid] = PodRecord(requested=fact, last=at)
    else:
        known.requested, known.last = fact, at
    yield Work(Topic.POD, fact.pod.uid)


def _pod_withdrawn(state: Recorded, fact: claims.PodWithdrawn, _: int) -> Iterable[Work]:
    gone = state.pods.pop(fact.pod.uid, None)
    if gone is not None and gone.decision is not None:
        yield Work(Topic.NODE, gone.decision.node)
    for ref in gone.requested.claims if gone is not None else ():
        if claim := state.claims.get(ref.uid):
            claim.consumers.pop(fact.pod.uid, None)
        yield Work(Topic.CLAIM, ref.uid)


def _allocated(state: Recorded, fact: allocations.ClaimAllocated, at: int) -> Iterable[Work]:
    for given in fact.claims:
        if claim := state.claims.get(given.claim.uid):
            allocation = given.allocation
            if allocation.allocation_timestamp is None:
                allocation = msgspec.structs.replace(allocation, allocation_timestamp=fact.time)
            claim.grant = Grant(allocation=allocation, node=fact.node, sequence=at)
            claim.foreign = None
    own = tuple(given.claim.uid for given in fact.claims)
    shared = tuple(ref.uid for ref in fact.shared)
    if pod := state.pods.get(fact.pod.uid):
        pod.decision = Decision(node=fact.node, claims=own, shared=shared, sequence=at)
        pod.noted = pod.refused = False
        pod.trouble = None
        for uid in (*own, *shared):
            if claim := state.claims.get(uid):
                claim.consumers[fact.pod.uid] = fact.pod
    yield Work(Topic.NODE, fact.node)
    yield Work(Topic.POD, fact.pod.uid)
    for uid in (*own, *shared):
        yield Work(Topic.CLAIM, uid)


def _unsatisfiable(
    state: Recorded, fact: allocations.ClaimUnsatisfiable, at: int
) -> Iterable[Work]:
    if pod := state.pods.get(fact.pod.uid):
        pod.trouble = Trouble(message=fact.summary, sequence=at, time_ns=state.time_ns)
    yield Work(Topic.POD, fact.pod.uid)


def _adopted(state: Recorded, fact: allocations.AllocationAdopted, _: int) -> Iterable[Work]:
    if claim := state.claims.get(fact.claim.uid):
        if claim.grant is not None:
            yield from _lose(state, claim)
        claim.foreign = fact.allocation
    yield Work(Topic.CLAIM, fact.claim.uid)


def _released(state: Recorded, fact: allocations.ClaimReleased, _: int) -> Iterable[Work]:
    if claim := state.claims.get(fact.claim.uid):
        yield from _lose(state, claim)
    yield Work(Topic.CLAIM, fact.claim.uid)


def _written(state: Recorded, fact: mirror.AllocationWritten, at: int) -> Iterable[Work]:
    if claim := state.claims.get(fact.claim.uid):
        claim.last = at
        if claim.grant is not None:
            claim.grant = msgspec.structs.replace(claim.grant, written=True)
    yield Work(Topic.CLAIM, fact.claim.uid)


def _refused(state: Recorded, fact: mirror.AllocationRefused, at: int) -> Iterable[Work]:
    if claim := state.claims.get(fact.claim.uid):
        trouble = Trouble(message=fact.message, sequence=at, time_ns=state.time_ns)
        for uid in claim.consumers:
            if pod := state.pods.get(uid):
                pod.trouble = trouble
        claim.last = at
        yield from _lose(state, claim)
    yield Work(Topic.CLAIM, fact.claim.uid)


def _cleared(state: Recorded, fact: mirror.AllocationCleared, at: int) -> Iterable[Work]:
    if claim := state.claims.get(fact.claim.uid):
        claim.last = at
        yield from _lose(state, claim)
    yield Work(Topic.CLAIM, fact.claim.uid)


def _foreign(state: Recorded, fact: mirror.ForeignAllocationObserved, at: int) -> Iterable[Work]:
    if claim := state.claims.get(fact.claim.uid):
        claim.last = at
        yield from _lose(state, claim)
        claim.foreign = fact.allocation
    yield Work(Topic.CLAIM, fact.claim.uid)


def _lose(state: Recorded, claim: ClaimRecord) -> list[Work]:
    """The claim holds nothing any more; the pods whose decisions are void for that, and where."""
    claim.grant = claim.foreign = None
    works = [Work(Topic.POD, uid) for uid in claim.consumers]
    for uid in claim.consumers:
        pod = state.pods.get(uid)
        if pod is not None and pod.decision is not None:
            works.append(Work(Topic.NODE, pod.decision.node))
            pod.decision = None
    claim.consumers.clear()
    return works


def _ungated(state: Recorded, fact: mirror.PodUngated, at: int) -> Iterable[Work]:
    if pod := state.pods.get(fact.pod.uid):
        pod.last, pod.ungated = at, True
    yield Work(Topic.POD, fact.pod.uid)


def _pod_refused(state: Recorded, fact: mirror.PodRefused, at: int) -> Iterable[Work]:
    if pod := state.pods.get(fact.pod.uid):
        pod.last = at
        pod.noted, pod.refused = True, fact.status >= FIRST_ERROR
        pod.trouble = Trouble(message=fact.message, sequence=at, time_ns=state.time_ns)
    yield Work(Topic.POD, fact.pod.uid)


def _slice_refused(state: Recorded, fact: mirror.SliceRefused, at: int) -> Iterable[Work]:
    work = Work(Topic.POOL, fact.driver, fact.pool)
    state.newest[work] = at
    if pool := state.pools.get((fact.driver, fact.pool)):
        pool.noted, pool.refused = True, fact.status >= FIRST_ERROR
    yield work


def _published(state: Recorded, fact: pools.PoolPublished, at: int) -> Iterable[Work]:
    if fact.node is not None:
        state.pools_of[fact.node].add((fact.driver, fact.pool))
    record = PoolRecord(published=fact, sequence=at)
    return _pool(state, fact.driver, fact.pool, record)


def _pool_withdrawn(state: Recorded, fact: pools.PoolWithdrawn, at: int) -> Iterable[Work]:
    return _pool(state, fact.driver, fact.pool, PoolRecord(published=None, sequence=at))


def _pool(state: Recorded, driver: str, pool: str, record: PoolRecord) -> Iterable[Work]:
    state.pools[driver, pool] = record
    yield Work(Topic.POOL, driver, pool)
    if driver not in state.drivers:
        state.drivers.add(driver)
        yield from [work for work in state.cluster if work[:2] == (Topic.POOL, driver)]


def _observed(state: Recorded, fact: AnyFact, at: int) -> Iterable[Work]:
    work = _TOPICS[type(fact)](fact)
    state.cluster[work] = fact
    state.newest[work] = at
    yield work


def _features_observed(state: Recorded, fact: cluster.FeaturesObserved, at: int) -> Iterable[Work]:
    """What was refused or cut of our slices is tried again with a server of other features."""
    yield from _observed(state, fact, at)
    for (driver, pool), record in state.pools.items():
        record.noted = record.refused = False
        yield Work(Topic.POOL, driver, pool)


def _slices_changed(state: Recorded, fact: cluster.ForeignSlicesChanged, at: int) -> Iterable[Work]:
    known = state.cluster.get(Work(Topic.POOL, fact.driver, fact.pool))
    before = known if isinstance(known, cluster.ForeignSlicesObserved) else None
    return _observed(state, fact.onto(before), at)


def _removed(state: Recorded, fact: AnyFact, at: int) -> Iterable[Work]:
    work = _TOPICS[type(fact)](fact)
    state.cluster.pop(work, None)
    state.newest[work] = at
    yield work


_TOPICS: Final[Mapping[type[Fact], Callable[[Any], Work]]] = MappingProxyType(
    {
        cluster.FeaturesObserved: lambda _: FEATURES,
        cluster.ClassObserved: lambda f: Work(Topic.CLASS, f.device_class.metadata.name),
        cluster.ClassRemoved: lambda f: Work(Topic.CLASS, f.name),
        cluster.TaintRuleObserved: lambda f: Work(Topic.TAINT_RULE, f.rule.metadata.name),
        cluster.TaintRuleRemoved: lambda f: Work(Topic.TAINT_RULE, f.name),
        cluster.NodeObserved: lambda f: Work(Topic.NODE, f.name),
        cluster.NodeRemoved: lambda f: Work(Topic.NODE, f.name),
        cluster.ForeignSlicesObserved: lambda f: Work(Topic.POOL, f.driver, f.pool),
        cluster.ForeignSlicesRemoved: lambda f: Work(Topic.POOL, f.driver, f.pool),
    }
)

_FOLDS: Final[Mapping[type[Fact], Callable[[Recorded, Any, int], Iterable[Work]]]] = (
    MappingProxyType(
        {
            claims.ClaimRequested: _claim_requested,
            claims.ClaimWithdrawn: _claim_withdrawn,
            claims.PodRequested: _pod_requested,
            claims.PodWithdrawn: _pod_withdrawn,
            allocations.ClaimAllocated: _allocated,
            allocations.ClaimUnsatisfiable: _unsatisfiable,
            allocations.AllocationAdopted: _adopted,
            allocations.ClaimReleased: _released,
            mirror.AllocationWritten: _written,
            mirror.AllocationRefused: _refused,
            mirror.AllocationCleared: _cleared,
            mirror.ForeignAllocationObserved: _foreign,
            mirror.PodUngated: _ungated,
            mirror.PodRefused: _pod_refused,
            mirror.SliceRefused: _slice_refused,
            pools.PoolPublished: _published,
            pools.PoolWithdrawn: _pool_withdrawn,
            cluster.FeaturesObserved: _features_observed,
            cluster.ClassObserved: _observed,
            cluster.ClassRemoved: _removed,
            cluster.TaintRuleObserved: _observed,
            cluster.TaintRuleRemoved: _removed,
            cluster.NodeObserved: _observed,
            cluster.NodeRemoved: _removed,
            cluster.ForeignSlicesObserved: _observed,
            cluster.ForeignSlicesChanged: _slices_changed,
            cluster.ForeignSlicesRemoved: _removed,
        }
    )
)
