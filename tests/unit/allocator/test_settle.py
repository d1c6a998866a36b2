"""What must be said about a claim because of what others did."""

from cluster import Story, a_claim, a_class, a_node, a_pod, a_pool, gone, placed, ref
from histories import a_foreign_allocation

from dra_shared.events.allocations import (
    AllocationAdopted,
    AllocationFact,
    ClaimAllocated,
    ClaimReleased,
    ReleaseReason,
)
from dra_shared.events.mirror import AllocationCleared, AllocationRefused, ClearedBy
from dra_shared.ids import DeviceId

CLEARED = AllocationCleared(claim=ref("c1"), by=ClearedBy.OTHERS)
REFUSED = AllocationRefused(claim=ref("c1"), status=422, message="no")


def allocated() -> Story:
    """c1 has the only device, for p1."""
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
    story.tell(a_claim("c1"), a_pod("p1", "c1"))
    assert placed(story.decide()) == {"p1": "n1"}
    return story


def releases(facts: list[AllocationFact]) -> list[tuple[str, str | None, ReleaseReason]]:
    return [(f.claim.name, f.node, f.reason) for f in facts if isinstance(f, ClaimReleased)]


def adoptions(facts: list[AllocationFact]) -> list[AllocationAdopted]:
    return [fact for fact in facts if isinstance(fact, AllocationAdopted)]


def test_a_claim_that_is_gone_gives_its_devices_back() -> None:
    story = allocated().tell(gone("c1"))
    assert releases(story.decide()) == [("c1", "n1", ReleaseReason.CLAIM_WITHDRAWN)]
    story.tell(a_claim("c2"), a_pod("p2", "c2"))
    assert placed(story.decide()) == {"p2": "n1"}


def test_an_allocation_taken_away_is_given_back_and_decided_again() -> None:
    facts = allocated().tell(CLEARED).decide()
    assert releases(facts) == [("c1", "n1", ReleaseReason.CLEARED)]
    assert placed(facts) == {"p1": "n1"}


def test_a_refused_allocation_is_given_back() -> None:
    facts = allocated().tell(REFUSED).decide()
    assert releases(facts) == [("c1", "n1", ReleaseReason.REFUSED)]
    assert placed(facts) == {}


def test_news_about_an_older_allocation_does_not_end_a_newer_one() -> None:
    story = allocated().tell(CLEARED)
    story.decide()
    assert story.tell(a_node("n1", pods=9)).decide() == []


def test_a_claim_without_devices_is_not_given_back() -> None:
    story = Story().tell(a_class(), a_claim("c1"), CLEARED, REFUSED)
    assert story.decide() == []


def test_a_foreign_allocation_counts_as_in_use() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0", "d1"]), a_claim("c1"))
    story.tell(a_foreign_allocation("c1", "n1", "d0"))
    (adopted,) = adoptions(story.decide())
    assert [cost.device for cost in adopted.costs] == [DeviceId("dev.lab.example", "n1", "d0")]
    assert adopted.conflicts == ()
    story.tell(a_claim("c2"), a_pod("p2", "c2"))
    (fact,) = story.decide()
    assert isinstance(fact, ClaimAllocated)
    assert [cost.device.device for got in fact.claims for cost in got.costs] == ["d1"]


def test_a_foreign_allocation_of_a_device_in_use_is_named_as_conflict() -> None:
    story = allocated().tell(a_claim("c2"), a_foreign_allocation("c2", "n1", "d0"))
    (adopted,) = adoptions(story.decide())
    assert adopted.conflicts == (DeviceId("dev.lab.example", "n1", "d0"),)


def test_a_foreign_allocation_that_came_first_replaces_ours() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0", "d1"]))
    story.tell(a_claim("c1"), a_pod("p1", "c1"))
    story.speak()
    story.tell(a_foreign_allocation("c1", "n1", "d1"), REFUSED)
    story.send()
    facts = story.decide()
    assert len(adoptions(facts)) == 1
    assert placed(facts) == {"p1": "n1"}
    holding = story.state.registers.holdings.get("c1-uid")
    assert holding is not None
    assert [cost.device.device for cost in holding.costs] == ["d1"]


def test_an_adopted_allocation_ends_when_it_is_cleared() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]), a_claim("c1"))
    story.tell(a_foreign_allocation("c1", "n1", "d0"))
    story.decide()
    assert releases(story.tell(CLEARED).decide()) == [("c1", None, ReleaseReason.CLEARED)]


def test_counters_of_an_adopted_device_are_frozen_as_they_are_now() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_claim("c1"))
    story.tell(a_foreign_allocation("c1", "n1", "gone"))
    (adopted,) = adoptions(story.decide())
    assert [cost.device.device for cost in adopted.costs] == ["gone"]
