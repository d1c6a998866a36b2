"""Every way in which a gated pod can wait is told on the pod, or known to be told by Kubernetes.

The ways are those in which one step of docs/operations.md, "What a waiting pod is told", is not
done; a refusal that stands in the log is told at once (test_writes.py).
"""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from unit.api_bridge.world import (
    World,
    a_claim,
    a_node,
    a_pod,
    allocated,
    an_allocation,
    meta,
    user,
)

from dra_api_bridge.core.attempts import LARGEST
from dra_api_bridge.core.objects import Kind, Topic, Work
from dra_api_bridge.core.requests import Tell, requests
from dra_api_bridge.core.steps import end
from dra_api_bridge.core.waiting import LATE, LATER, SOON
from dra_api_bridge.core.writes import Later

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p-uid"}
DYING = "2026-11-30T12:00:00Z"


def a_templated_pod(made: str = "") -> Any:
    pod = a_pod(claims=())
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    statuses = [{"name": "gpu", "resourceClaimName": made}] if made else []
    return {**pod, "status": {"resourceClaimStatuses": statuses}}


def a_made_claim(owner: str = "p-uid") -> Any:
    claim = a_claim("made")
    claim["metadata"]["ownerReferences"] = [{**OWNER, "uid": owner}]
    return claim


def a_dying_claim(version: int = 5, **status: Any) -> Any:
    claim = a_claim(version=version, **status)
    claim["metadata"]["deletionTimestamp"] = DYING
    return claim


def a_large_claim() -> Any:
    claim = a_claim()
    opaque = {"driver": "d", "parameters": {"text": "x" * LARGEST}}
    claim["spec"]["devices"]["config"] = [{"opaque": opaque}]
    return claim


def a_large_pod() -> Any:
    return a_pod(nodeSelector={"key": "x" * LARGEST})


def world_of(pod: Any, *claims: Any) -> World:
    world = World().see(Kind.NODES, a_node()).see(Kind.CLAIMS, *claims).see(Kind.PODS, pod)
    world.facts()
    return world


def a_decided_pod_whose_claim_dies() -> World:
    world = world_of(a_pod(), a_claim()).told(allocated())
    return world.see(Kind.CLAIMS, a_dying_claim())


WAYS: dict[str, tuple[Callable[[], World], float, str]] = {
    "claim missing": (
        lambda: world_of(a_pod()),
        SOON,
        "claim c does not exist",
    ),
    "second claim missing": (
        lambda: world_of(a_pod(claims=("c", "d")), a_claim()),
        SOON,
        "claim d does not exist",
    ),
    "claim being deleted": (
        lambda: world_of(a_pod(), a_dying_claim()),
        SOON,
        "claim c is being deleted",
    ),
    "claim deleted after the decision": (
        a_decided_pod_whose_claim_dies,
        SOON,
        "claim c is being deleted",
    ),
    "claim not made from its template": (
        lambda: world_of(a_templated_pod()),
        LATER,
        "Kubernetes has not made a claim from template t yet",
    ),
    "made claim gone": (
        lambda: world_of(a_templated_pod("made")),
        LATER,
        "claim made does not exist",
    ),
    "claim made for another": (
        lambda: world_of(a_templated_pod("made"), a_made_claim("other-uid")),
        LATER,
        "claim made was made for another pod",
    ),
    "claim too large": (
        lambda: world_of(a_pod(), a_large_claim()),
        SOON,
        "claim c is too large to be recorded: 1000",
    ),
    "pod too large": (
        lambda: world_of(a_large_pod(), a_claim()),
        SOON,
        "pod p is too large to be recorded: 1000",
    ),
    "allocator silent": (
        lambda: world_of(a_pod(), a_claim()),
        LATE,
        "dra-ledger's allocator has not decided yet; is it running?",
    ),
}
"""How to come to wait, for how long that is nothing to speak of, and what is said then."""


def tells(world: World, now: float) -> list[Tell]:
    return [write for write in world.writes(now) if isinstance(write, Tell)]


def event_of(write: Tell) -> Any:
    return msgspec.json.decode(requests(write, "")[0].body or b"")


@pytest.mark.parametrize("way", WAYS)
def test_a_gated_pod_never_waits_without_a_word(way: str) -> None:
    a_world, patience, message = WAYS[way]
    world = a_world()
    assert Later(patience) in world.steps(now=100)
    assert tells(world, now=100 + patience - 1) == []
    (write,) = tells(world, now=100 + patience)
    assert write.message.startswith(message)
    assert (write.pod.name, write.work) == ("p", Work(Topic.EVENT, "p-uid"))


@pytest.mark.parametrize("way", WAYS)
def test_the_same_is_told_once_also_over_a_restart(way: str) -> None:
    a_world, patience, _ = WAYS[way]
    world = a_world()
    world.steps(now=0)
    (write,) = tells(world, now=patience)
    end(world.mirror, write, 0, b"")
    for later in (patience + 1, patience + 1000):
        world.look(world.mirror.everything())
        assert world.steps(now=later) == []
    again = world.restarted()
    again.facts()
    again.steps(now=0)
    (repeated,) = tells(again, now=patience)
    assert event_of(repeated)["metadata"]["name"] == event_of(write)["metadata"]["name"]


def test_a_claim_that_appears_in_time_is_no_news() -> None:
    world = world_of(a_pod())
    assert world.steps(now=0) == [Later(SOON)]
    world.see(Kind.CLAIMS, a_claim())
    world.facts()
    assert world.steps(now=SOON) == [Later(LATE)]
    world.told(allocated())
    assert not tells(world, now=LATE + SOON)


def test_a_claim_that_goes_again_is_told_again() -> None:
    world = world_of(a_pod())
    world.steps(now=0)
    (first,) = tells(world, now=SOON)
    end(world.mirror, first, 0, b"")
    world.see(Kind.CLAIMS, a_claim())
    world.facts()
    world.steps(now=4)
    world.miss(Kind.CLAIMS, "c")
    world.facts()
    assert world.steps(now=10) == [Later(SOON)]
    assert len(tells(world, now=10 + SOON)) == 1


def test_what_a_pod_still_lacks_goes_before_what_was_decided_about_it() -> None:
    world = a_decided_pod_whose_claim_dies()
    world.see(Kind.CLAIMS, a_dying_claim(6, allocation=an_allocation(), reservedFor=[user("p")]))
    world.facts()
    world.steps(now=0)
    assert [write.message for write in tells(world, now=SOON)] == ["claim c is being deleted"]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param({**a_pod(), "status": {"phase": "Failed"}}, id="finished"),
        pytest.param(
            {**a_pod(), "metadata": meta("p", deletionTimestamp=DYING)}, id="being deleted"
        ),
        pytest.param(a_pod(schedulingGates=[]), id="without our gate"),
        pytest.param(a_pod(schedulingGates=[{"name": "example.com/q"}]), id="gate of others"),
    ],
)
def test_a_pod_that_does_not_wait_for_us_is_told_nothing(pod: Any) -> None:
    world = world_of(pod)
    assert world.steps(now=0) == []
    assert world.steps(now=1000) == []


def test_a_pod_that_went_leaves_nothing_behind() -> None:
    world = world_of(a_large_pod(), a_claim())
    world.steps(now=0)
    assert len(tells(world, now=SOON)) == 1
    world.miss(Kind.PODS, "p")
    world.facts()
    world.steps(now=SOON + 1)
    attempts = world.mirror.attempts
    assert (attempts.too_large, attempts._told, attempts._stuck) == ({}, {}, {})


def test_what_a_too_large_claim_would_stand_before_is_not_said_either() -> None:
    world = world_of(a_pod(claims=("d", "c")), a_large_claim(), a_claim("d"))
    said = [record.envelope.correlation for record in world.records]
    assert "d-uid" in said
    assert not {"c-uid", "p-uid"} & set(said)
