"""Pods that belong together say so by their labels."""

import pytest
from unit.api_bridge.world import World, a_claim, a_pod

from dra_api_bridge.core.objects import Kind
from dra_shared.events.claims import PodGroupRef, PodRequested


def requested(labels: dict[str, str] | None) -> PodGroupRef | None:
    """The group in the fact about a pod with these labels."""
    pod = a_pod()
    pod["metadata"]["labels"] = labels
    world = World().see(Kind.CLAIMS, a_claim()).see(Kind.PODS, pod)
    (group,) = (fact.group for fact in world.facts() if isinstance(fact, PodRequested))
    return group


@pytest.mark.parametrize(
    ("size", "means"), [("17", 17), ("1", 1), ("0", 0), ("-2", 0), ("many", 0), (None, 0)]
)
def test_the_size_of_a_group_is_a_number_or_none_that_can_be_placed(
    size: str | None, means: int
) -> None:
    labels = {"dra-ledger.io/group": "train"}
    if size is not None:
        labels["dra-ledger.io/group-size"] = size
    assert requested(labels) == PodGroupRef(name="train", size=means)


@pytest.mark.parametrize("labels", [None, {}, {"app": "x"}, {"dra-ledger.io/group": ""}])
def test_a_pod_without_the_label_is_in_no_group(labels: dict[str, str] | None) -> None:
    assert requested(labels) is None


def test_a_pod_that_changes_its_group_while_it_waits_asks_again() -> None:
    world = World().see(Kind.CLAIMS, a_claim()).see(Kind.PODS, a_pod())
    world.facts()
    moved = a_pod(version=2)
    moved["metadata"]["labels"] = {"dra-ledger.io/group": "g", "dra-ledger.io/group-size": "2"}
    (again,) = world.see(Kind.PODS, moved).facts()
    assert isinstance(again, PodRequested)
    assert again.group == PodGroupRef(name="g", size=2)
