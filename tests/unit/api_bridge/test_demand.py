"""Which facts the log gets from what the API shows."""

import pytest
from unit.api_bridge.world import (
    World,
    a_claim,
    a_node,
    a_pod,
    allocated,
    an_allocation,
    meta,
    ref,
    user,
)

from dra_api_bridge.core.facts import new_facts
from dra_api_bridge.core.objects import Kind
from dra_api_bridge.core.requests import Allocate
from dra_shared.events.allocations import AllocationAdopted
from dra_shared.events.claims import ClaimRequested, ClaimWithdrawn, PodRequested, PodWithdrawn
from dra_shared.events.mirror import (
    AllocationCleared,
    AllocationWritten,
    ClearedBy,
    ForeignAllocationObserved,
    PodUngated,
)


def a_world_with_a_requested_pod() -> World:
    world = World().see(Kind.NODES, a_node()).see(Kind.CLAIMS, a_claim()).see(Kind.PODS, a_pod())
    world.facts()
    return world


def a_world_with_a_written_allocation() -> World:
    world = a_world_with_a_requested_pod().told(allocated())
    world.see(Kind.CLAIMS, a_claim(version=2, allocation=an_allocation(), reservedFor=[user("p")]))
    assert [type(fact) for fact in world.facts()] == [AllocationWritten]
    return world


def test_a_claims_fact_stands_before_that_of_its_pod() -> None:
    world = World().see(Kind.PODS, a_pod()).see(Kind.CLAIMS, a_claim())
    claim, pod = world.facts()
    assert isinstance(claim, ClaimRequested)
    assert isinstance(pod, PodRequested)
    assert pod.claims == (claim.claim,)


def test_a_pod_is_not_requested_before_all_its_claims_exist() -> None:
    world = World().see(Kind.PODS, a_pod(claims=("c", "d"))).see(Kind.CLAIMS, a_claim("c"))
    assert not [fact for fact in world.facts() if isinstance(fact, PodRequested)]
    world.see(Kind.CLAIMS, a_claim("d"))
    (pod,) = [fact for fact in world.facts() if isinstance(fact, PodRequested)]
    assert pod.claims == (ref("c"), ref("d"))


def test_a_claim_made_from_a_template_counts_once_the_pods_status_names_it() -> None:
    pod = a_pod(claims=())
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p-uid"}
    made = a_claim("p-gpu-x")
    made["metadata"]["ownerReferences"] = [owner]
    world = World().see(Kind.PODS, pod).see(Kind.CLAIMS, made)
    assert not [fact for fact in world.facts() if isinstance(fact, PodRequested)]
    named = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x"}]}
    world.see(Kind.PODS, {**pod, "metadata": meta("p", 2), "status": named})
    (request,) = [fact for fact in world.facts() if isinstance(fact, PodRequested)]
    assert request.claims == (ref("p-gpu-x"),)


def test_a_claim_that_was_made_for_another_pod_does_not_count() -> None:
    pod = a_pod(claims=())
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    pod["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}
    world = World().see(Kind.PODS, pod).see(Kind.CLAIMS, a_claim())
    assert not [fact for fact in world.facts() if isinstance(fact, PodRequested)]


def test_a_pod_without_our_gate_is_none_of_our_business() -> None:
    pod = a_pod(schedulingGates=[{"name": "example.com/quota"}])
    world = World().see(Kind.CLAIMS, a_claim()).see(Kind.PODS, pod)
    assert not [fact for fact in world.facts() if isinstance(fact, PodRequested)]


def test_a_pod_whose_claim_was_made_anew_asks_again_for_the_new_one() -> None:
    world = a_world_with_a_requested_pod()
    other = a_claim(version=5)
    other["metadata"]["uid"] = "other-uid"
    world.see(Kind.CLAIMS, other)
    facts = world.facts()
    assert [fact.claim.uid for fact in facts if isinstance(fact, ClaimWithdrawn)] == ["c-uid"]
    (again,) = [fact for fact in facts if isinstance(fact, PodRequested)]
    assert [claim.uid for claim in again.claims] == ["other-uid"]


def test_what_is_gone_is_withdrawn_once() -> None:
    world = a_world_with_a_requested_pod()
    world.miss(Kind.PODS, "p").miss(Kind.CLAIMS, "c")
    withdrawn = world.facts()
    assert PodWithdrawn(pod=ref("p")) in withdrawn
    assert ClaimWithdrawn(claim=ref("c")) in withdrawn
    assert world.facts() == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_withdrawn_though_it_still_exists(phase: str) -> None:
    world = a_world_with_a_requested_pod()
    world.see(Kind.PODS, {**a_pod(version=2), "status": {"phase": phase}})
    assert [type(fact) for fact in world.facts()] == [PodWithdrawn]


def test_admin_access_is_said_to_be_allowed_only_where_it_is_asked_for() -> None:
    label = {"resource.kubernetes.io/admin-access": "true"}
    namespace = {"metadata": {"name": "ns", "uid": "x", "resourceVersion": "1", "labels": label}}
    world = World().see(Kind.NAMESPACES, namespace)
    world.see(Kind.CLAIMS, a_claim("plain"), a_claim("admin", admin=True))
    allowed = {
        f.claim.name: f.admin_namespace for f in world.facts() if isinstance(f, ClaimRequested)
    }
    assert allowed == {"plain": False, "admin": True}


def test_a_namespace_that_allows_admin_access_later_is_told() -> None:
    world = World().see(Kind.CLAIMS, a_claim(admin=True))
    world.facts()
    label = {"resource.kubernetes.io/admin-access": "true"}
    metadata = {"name": "ns", "uid": "x", "resourceVersion": "2", "labels": label}
    world.see(Kind.NAMESPACES, {"metadata": metadata})
    (again,) = world.facts()
    assert isinstance(again, ClaimRequested)
    assert again.admin_namespace


def test_our_allocation_is_written_once_it_is_seen() -> None:
    world = a_world_with_a_requested_pod().told(allocated())
    world.see(Kind.CLAIMS, a_claim(version=7, allocation=an_allocation(), reservedFor=[user("p")]))
    (fact,) = world.facts()
    assert fact == AllocationWritten(claim=ref("c"), node="n1", resource_version="7")


def test_another_allocation_than_ours_is_foreign_and_voids_the_decision() -> None:
    world = a_world_with_a_requested_pod().told(allocated(device="d0"))
    world.see(Kind.CLAIMS, a_claim(version=2, allocation=an_allocation("d1")))
    (fact,) = world.facts()
    assert isinstance(fact, ForeignAllocationObserved)
    assert world.mirror.recorded.pods["p-uid"].decision is None


def test_the_end_of_an_adopted_allocation_is_told() -> None:
    world = World().see(Kind.CLAIMS, a_claim(allocation=an_allocation()))
    (_, foreign) = world.facts()
    assert isinstance(foreign, ForeignAllocationObserved)
    world.told(
        AllocationAdopted(claim=ref("c"), node="n1", allocation=foreign.allocation, costs=())
    )
    assert world.facts() == []
    world.see(Kind.CLAIMS, a_claim(version=2))
    assert world.facts() == [AllocationCleared(claim=ref("c"), by=ClearedBy.OTHERS)]


def test_an_allocation_taken_from_a_waiting_pod_names_the_unfit_node() -> None:
    world = a_world_with_a_written_allocation()
    world.see(Kind.PODS, a_pod(version=3, schedulingGates=[]))
    assert [type(fact) for fact in world.facts()] == [PodUngated]
    world.see(Kind.CLAIMS, a_claim(version=4))
    (fact,) = world.facts()
    assert isinstance(fact, AllocationCleared)
    assert (fact.by, fact.unfit_node) == (ClearedBy.OTHERS, "n1")


def test_an_allocation_that_ends_with_its_pod_names_no_unfit_node() -> None:
    world = a_world_with_a_written_allocation()
    world.miss(Kind.PODS, "p")
    world.facts()
    world.see(Kind.CLAIMS, a_claim(version=4))
    assert world.facts() == [AllocationCleared(claim=ref("c"), by=ClearedBy.OTHERS)]


def test_a_bound_pod_stays_ungated_in_the_log_once() -> None:
    world = a_world_with_a_written_allocation()
    world.see(Kind.PODS, a_pod(version=3, schedulingGates=[], nodeName="n1"))
    assert PodUngated(pod=ref("p"), node="n1") in world.facts()
    world.see(Kind.PODS, a_pod(version=4, schedulingGates=[], nodeName="n1"))
    assert not [fact for fact in world.facts() if isinstance(fact, PodUngated)]


def test_facts_under_way_are_not_appended_twice() -> None:
    world = World().see(Kind.CLAIMS, a_claim())
    works = world.mirror.everything()
    assert len(new_facts(world.mirror, works, "bridge")) == 2
    assert new_facts(world.mirror, works, "bridge") == []


def test_a_pod_that_was_bound_as_its_allocation_was_taken_asks_for_that_node_alone() -> None:
    world = a_world_with_a_written_allocation()
    world.see(Kind.PODS, a_pod(version=3, schedulingGates=[]))
    world.facts()
    world.see(Kind.CLAIMS, a_claim(version=4))
    world.facts()
    world.told(allocated(node="n2"))
    world.see(Kind.PODS, a_pod(version=5, schedulingGates=[], nodeName="n1"))
    assert world.writes() == []
    cleared, again = [f for f in world.facts() if isinstance(f, AllocationCleared | PodRequested)]
    assert isinstance(cleared, AllocationCleared)
    assert "runs on node n1 already" in cleared.message
    assert cleared.unfit_node is None
    assert isinstance(again, PodRequested)
    assert again.placement.cpu_milli == 0
    world.told(allocated(node="n1"))
    assert [type(write) for write in world.writes()] == [Allocate]
