"""What the log teaches: allocations by whoever made them, and what earlier agents left."""

from node_facts import a_result, an_allocation

from dra_node_agent.core.history import History, KnownAllocation, Released, lessons
from dra_node_agent.core.report import Report
from dra_shared.events.allocations import (
    AllocatedClaim,
    AllocationAdopted,
    ClaimAllocated,
    ClaimReleased,
    ReleaseReason,
)
from dra_shared.events.nodes import ClaimPrepared, ClaimUnprepared, DevicesReported
from dra_shared.ids import ObjectRef

C1, C2, POD = (ObjectRef("ns", name, f"{name}-uid") for name in ("c1", "c2", "pod"))
ALLOCATION = an_allocation(a_result("gpu-0"))


def test_all_claims_of_a_placed_pod_are_learnt() -> None:
    given = tuple(AllocatedClaim(claim=c, allocation=ALLOCATION, costs=()) for c in (C1, C2))
    fact = ClaimAllocated(pod=POD, node="n", claims=given, policy="pack", time="t")
    assert list(lessons(fact)) == [
        KnownAllocation(claim=claim, allocation=ALLOCATION) for claim in (C1, C2)
    ]


def test_allocations_of_others_and_releases_are_learnt() -> None:
    adopted = AllocationAdopted(claim=C1, node="n", allocation=ALLOCATION, costs=())
    released = ClaimReleased(claim=C1, node="n", reason=ReleaseReason.CLEARED)
    assert list(lessons(adopted)) == [KnownAllocation(claim=C1, allocation=ALLOCATION)]
    assert list(lessons(released)) == [Released(uid=C1.uid)]


def test_history_is_what_was_reported_last_and_prepared_without_an_end() -> None:
    history = History()
    prepared = [
        ClaimPrepared(node="n", driver="d", claim=claim, boot_id="b", devices=())
        for claim in (C1, C2)
    ]
    for fact in (
        DevicesReported(node="n", driver="d", devices=()),
        *prepared,
        ClaimUnprepared(node="n", driver="d", claim=C1),
    ):
        history.apply(fact)
    assert history.prepared == {(C2.uid, "d"): prepared[1]}
    assert history.reports == {"d": Report()}
