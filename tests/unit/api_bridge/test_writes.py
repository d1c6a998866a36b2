"""Which writes the bridge makes for what the log says, and with what in them."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.api_bridge.world import (
    AT,
    FINALIZER,
    GATE,
    World,
    a_claim,
    a_node,
    a_pod,
    allocated,
    an_allocation,
    ref,
    user,
)

from dra_api_bridge.core.objects import Kind
from dra_api_bridge.core.requests import (
    Allocate,
    AnyWrite,
    PatchType,
    Reserve,
    TakeBack,
    Tell,
    Ungate,
    requests,
)
from dra_api_bridge.core.steps import end, refuse
from dra_api_bridge.core.writes import Later
from dra_shared.events.allocations import ClaimReleased, ClaimUnsatisfiable, Refusal, ReleaseReason
from dra_shared.events.mirror import (
    AllocationCleared,
    AllocationRefused,
    ClearedBy,
    PodRefused,
    PodUngated,
)

API = "/apis/resource.k8s.io/v1"
UNSCHEDULABLE = [
    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "too small"}
]


def bodies(write: AnyWrite) -> list[Any]:
    return [msgspec.json.decode(each.body or b"null") for each in requests(write, API)]


def a_world(*, node: Any = None, claim: Any = None, pod: Any = None) -> World:
    """A pod whose claim was just decided."""
    world = World().see(Kind.NODES, node or a_node())
    world.see(Kind.CLAIMS, claim or a_claim()).see(Kind.PODS, pod or a_pod())
    world.facts()
    return world.told(allocated())


def end_all(world: World) -> None:
    for write in world.writes():
        end(world.mirror, write, 0, b"")


def written(world: World, version: int = 2, **status: Any) -> World:
    """The write was sent, and the watch shows what it made."""
    for write in world.writes():
        end(world.mirror, write, version, b"")
    shown = {"allocation": an_allocation(), "reservedFor": [user("p")], **status}
    world.see(Kind.CLAIMS, a_claim(version=version, **shown))
    world.facts()
    return world


def test_an_allocation_is_one_small_patch_that_relies_on_uid_and_version() -> None:
    (write,) = a_world(claim=a_claim(version=41)).writes()
    assert isinstance(write, Allocate)
    (request,) = requests(write, API)
    assert (request.method, request.content_type) == ("PATCH", PatchType.MERGE)
    assert request.path == f"{API}/namespaces/ns/resourceclaims/c/status"
    (body,) = bodies(write)
    assert body["metadata"] == {"uid": "c-uid", "resourceVersion": "41"}
    assert body["status"] == {
        "allocation": {**an_allocation(), "allocationTimestamp": AT},
        "reservedFor": [user("p")],
    }


def test_a_missing_finalizer_is_added_first_beside_those_of_others() -> None:
    claim = a_claim()
    claim["metadata"]["finalizers"] = ["example.com/audit"]
    (write,) = a_world(claim=claim).writes()
    first, second = bodies(write)
    assert first["metadata"]["finalizers"] == ["example.com/audit", FINALIZER]
    assert "allocation" in second["status"]


def test_a_write_under_way_is_not_sent_again_before_its_outcome_is_seen() -> None:
    world = a_world()
    (write,) = world.writes()
    assert world.writes() == []
    end(world.mirror, write, 5, b"")
    assert world.writes() == []
    world.see(Kind.CLAIMS, a_claim("other", 5))
    assert [type(each) for each in world.writes()] == [Allocate]


@pytest.mark.parametrize(
    "gone", [a_pod(version=2, schedulingGates=[]) | {"status": {"phase": "Failed"}}, None]
)
def test_nothing_is_written_for_a_pod_that_no_longer_wants_it(gone: Any) -> None:
    world = a_world()
    if gone is None:
        world.miss(Kind.PODS, "p")
    else:
        world.see(Kind.PODS, gone)
    assert world.writes() == []


def test_nothing_is_written_to_a_claim_that_is_being_deleted() -> None:
    world = a_world()
    claim = a_claim(version=2)
    claim["metadata"]["deletionTimestamp"] = AT
    assert world.see(Kind.CLAIMS, claim).writes() == []


def test_a_released_decision_is_not_written() -> None:
    released = ClaimReleased(claim=ref("c"), node="n1", reason=ReleaseReason.REFUSED)
    assert a_world().told(released).writes() == []


def test_a_pod_is_let_go_only_when_the_watch_shows_its_claims_as_its_own() -> None:
    world = a_world()
    written(world, reservedFor=[])
    assert not [write for write in world.writes() if isinstance(write, Ungate)]
    world.see(Kind.CLAIMS, a_claim(version=9, allocation=an_allocation(), reservedFor=[user("p")]))
    assert [type(write) for write in world.writes()] == [Ungate]


def test_ungating_removes_our_gate_alone_and_tests_that_it_is_there() -> None:
    pod = a_pod(schedulingGates=[{"name": "example.com/quota"}, {"name": GATE}])
    (write,) = written(a_world(pod=pod)).writes()
    (request,) = requests(write, API)
    assert request.content_type is PatchType.JSON
    assert request.path == "/api/v1/namespaces/ns/pods/p"
    (body,) = bodies(write)
    assert body == [
        {"op": "test", "path": "/metadata/uid", "value": "p-uid"},
        {"op": "test", "path": "/spec/schedulingGates/1/name", "value": GATE},
        {"op": "remove", "path": "/spec/schedulingGates/1"},
    ]


def test_a_second_pod_is_added_to_those_that_use_a_claim() -> None:
    world = written(a_world())
    world.see(Kind.PODS, a_pod("q"))
    world.facts()
    world.told(allocated("q", claims=(), shared=("c",)))
    (write,) = [each for each in world.writes() if isinstance(each, Reserve)]
    (body,) = bodies(write)
    assert body["status"] == {"reservedFor": [user("p"), user("q")]}


WORDS = st.text("abcdefghijklmnopqrstuvwxyz.-", min_size=1, max_size=20)
FOREIGN = st.lists(
    st.fixed_dictionaries({"apiGroup": WORDS, "resource": WORDS, "name": WORDS, "uid": WORDS}),
    max_size=5,
    unique_by=lambda entry: entry["uid"],
)
"""Who is no pod and may use a claim all the same, as the API shows them."""


@given(FOREIGN)
def test_what_else_may_use_a_claim_stays_as_it_stands_when_a_pod_is_added(
    others: list[Any],
) -> None:
    world = written(a_world(), reservedFor=[*others, user("p")])
    world.see(Kind.PODS, a_pod("q"))
    world.facts()
    world.told(allocated("q", claims=(), shared=("c",)))
    (write,) = [each for each in world.writes() if isinstance(each, Reserve)]
    (body,) = bodies(write)
    assert body["status"] == {"reservedFor": [*others, user("p"), user("q")]}


def test_a_claim_that_something_else_uses_too_is_not_taken_back() -> None:
    workload = {**user("w"), "apiGroup": "workloads.example.com", "resource": "workloads"}
    world = written(a_world(), reservedFor=[user("p"), workload])
    other = a_pod("other", (), 3, schedulingGates=[], nodeName="n1")
    other["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3950m"
    assert not [each for each in world.see(Kind.PODS, other).writes() if isinstance(each, TakeBack)]


def test_a_claim_is_reserved_for_256_pods_and_the_next_waits_for_room() -> None:
    others = [user(f"other-{number}") for number in range(255)]
    world = written(a_world(), reservedFor=[user("p"), *others])
    world.see(Kind.PODS, a_pod("q"))
    world.facts()
    world.told(allocated("q", claims=(), shared=("c",)))
    assert not [each for each in world.writes() if isinstance(each, Reserve)]
    (told,) = world.facts()
    assert isinstance(told, PodRefused)
    assert "256" in told.message
    held = [user("p"), *others[1:]]
    world.see(Kind.CLAIMS, a_claim(version=20, allocation=an_allocation(), reservedFor=held))
    assert [type(each) for each in world.writes() if isinstance(each, Reserve)] == [Reserve]
    held = [*held, user("q")]
    world.see(Kind.CLAIMS, a_claim(version=21, allocation=an_allocation(), reservedFor=held))
    end_all(world)
    assert [each.work.name for each in world.writes() if isinstance(each, Ungate)] == ["q-uid"]


def test_a_refused_reservation_is_told_on_its_pod_and_not_repeated() -> None:
    world = written(a_world()).see(Kind.PODS, a_pod("q"))
    world.facts()
    world.told(allocated("q", claims=(), shared=("c",)))
    (write,) = [each for each in world.writes() if isinstance(each, Reserve)]
    refuse(world.mirror, write, 403, "may not reserve")
    assert not [each for each in world.writes() if isinstance(each, Reserve)]
    assert world.facts() == [PodRefused(pod=ref("q"), status=403, message="may not reserve")]


def test_a_pod_that_is_gone_is_never_reserved_for_again() -> None:
    world = written(a_world())
    world.miss(Kind.PODS, "p")
    world.facts()
    world.see(Kind.CLAIMS, a_claim(version=6, allocation=an_allocation(), reservedFor=[]))
    assert world.writes() == []


def test_a_refused_allocation_is_told_and_not_repeated() -> None:
    world = a_world()
    (write,) = world.writes()
    refuse(world.mirror, write, 422, "no")
    assert world.writes() == []
    assert world.facts() == [AllocationRefused(claim=ref("c"), status=422, message="no")]
    assert [type(each) for each in world.writes()] == [Tell]


def test_a_refused_ungating_is_told_and_repeated_only_for_a_new_decision() -> None:
    world = written(a_world())
    (write,) = world.writes()
    refuse(world.mirror, write, 403, "may not patch pods")
    assert world.facts() == [PodRefused(pod=ref("p"), status=403, message="may not patch pods")]
    assert [type(each) for each in world.writes()] == [Tell]


def test_a_node_without_room_for_a_gated_pod_costs_the_pod_its_allocation() -> None:
    world = written(a_world())
    other = a_pod("other", (), 3, schedulingGates=[], nodeName="n1")
    other["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3950m"
    (write,) = world.see(Kind.PODS, other).writes()
    assert isinstance(write, TakeBack)
    assert "50m of CPU left" in write.unfit.message
    assert bodies(write)[0]["status"] == {"allocation": None, "reservedFor": None}
    end(world.mirror, write, 8, b"")
    world.see(Kind.CLAIMS, a_claim(version=8))
    (fact,) = [fact for fact in world.facts() if isinstance(fact, AllocationCleared)]
    assert (fact.by, fact.unfit_node) == (ClearedBy.BRIDGE, "n1")


def an_unschedulable_pod(version: int = 5) -> Any:
    return {
        **a_pod(version=version, schedulingGates=[]),
        "status": {"conditions": UNSCHEDULABLE},
    }


def test_what_an_unschedulable_pod_holds_is_taken_back_after_a_while() -> None:
    world = written(a_world()).see(Kind.PODS, an_unschedulable_pod())
    assert PodUngated(pod=ref("p"), node="n1") in world.facts()
    assert [type(step) for step in world.steps(now=100.0)] == [Later]
    (write,) = world.writes(now=102.0)
    assert isinstance(write, TakeBack)
    assert write.unfit.message == "too small"


def test_a_pod_that_gets_its_node_meanwhile_keeps_what_it_holds() -> None:
    world = written(a_world()).see(Kind.PODS, an_unschedulable_pod())
    world.steps(now=100.0)
    world.see(Kind.PODS, a_pod(version=6, schedulingGates=[], nodeName="n1"))
    assert world.steps(now=200.0) == []


def test_a_claim_that_others_use_too_is_not_taken_back() -> None:
    world = written(a_world(), reservedFor=[user("p"), user("q")])
    world.see(Kind.PODS, an_unschedulable_pod())
    world.steps(now=100.0)
    assert world.writes(now=200.0) == []


def test_patience_grows_with_every_move() -> None:
    world = written(a_world())
    first = world.mirror.attempts.patience("p-uid")
    world.see(Kind.PODS, an_unschedulable_pod())
    world.steps(now=0.0)
    (write,) = world.writes(now=first)
    assert isinstance(write, TakeBack)
    assert world.mirror.attempts.patience("p-uid") > first


def unsatisfiable(summary: str) -> ClaimUnsatisfiable:
    return ClaimUnsatisfiable(
        pod=ref("p"),
        claims=(ref("c"),),
        refusal=Refusal.UNSATISFIABLE,
        reasons=(),
        devices=0,
        nodes=0,
        summary=summary,
    )


def a_waiting_world() -> World:
    world = World().see(Kind.CLAIMS, a_claim()).see(Kind.PODS, a_pod())
    world.facts()
    return world


def test_a_pod_is_told_why_it_waits_once_for_each_reason_and_not_too_often() -> None:
    world = a_waiting_world().told(unsatisfiable("8 devices are in use"))
    (write,) = world.writes(now=0)
    assert isinstance(write, Tell)
    end(world.mirror, write, 7, b"")
    world.told(unsatisfiable("8 devices are in use"))
    assert world.steps(now=1) == []
    world.told(unsatisfiable("7 devices are in use"))
    assert world.steps(now=5) == [Later(15.0)]
    assert [type(each) for each in world.writes(now=20)] == [Tell]


def test_an_event_is_about_the_pod_and_has_one_name_for_each_fact() -> None:
    world = a_waiting_world().told(unsatisfiable("x" * 3000))
    (write,) = world.writes()
    (request,) = requests(write, API)
    (body,) = bodies(write)
    assert request.path == "/api/v1/namespaces/ns/events"
    assert body["involvedObject"]["uid"] == "p-uid"
    assert len(body["message"]) == 1000
    assert body["eventTime"] == "1970-01-01T00:00:00.000000Z"
    assert body["metadata"]["name"].startswith("p.")


def test_a_pod_that_got_its_devices_is_told_nothing() -> None:
    world = a_waiting_world().told(unsatisfiable("8 devices are in use"), allocated())
    assert not [write for write in world.writes() if isinstance(write, Tell)]
