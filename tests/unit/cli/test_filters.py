"""What was asked for is shown, and nothing else."""

from cluster import ref
from unit.cli.ledger import a_history

from dra_cli.core.filters import Filter
from dra_cli.core.sentences import tag_of
from dra_shared.events.mirror import PodUngated


def tags(wanted: Filter) -> list[str]:
    """The tags of the history's records that are taken."""
    story = a_history().tell(PodUngated(pod=ref("user"), node="n2"))
    return [tag_of(record.envelope.fact) for record in story.records if wanted.takes(record)]


def test_a_claims_life_is_its_own_facts_and_those_of_the_pods_that_use_it() -> None:
    life = [
        "claim.requested.v1",
        "pod.requested.v1",
        "claim.allocated.v1",
        "claim.prepared.v1",
        "pod.ungated.v1",
    ]
    assert tags(Filter(claim="ns/one")) == life
    assert tags(Filter(claim="one-uid")) == life


def test_another_claim_is_not_in_it() -> None:
    assert tags(Filter(claim="ns/many")) == [
        "claim.requested.v1",
        "pod.requested.v1",
        "claim.unsatisfiable.v1",
    ]


def test_a_node_is_shown_with_its_agent_and_with_what_is_decided_for_it() -> None:
    assert set(tags(Filter(node="n2"))) == {
        "node.observed.v1",
        "agent.started.v1",
        "devices.reported.v1",
        "pool.published.v1",
        "claim.allocated.v1",
        "claim.prepared.v1",
        "pod.ungated.v1",
    }


def test_tags_may_have_stars() -> None:
    assert set(tags(Filter(tags=("claim.p*", "pool.published.v1")))) == {
        "claim.prepared.v1",
        "pool.published.v1",
    }


def test_all_that_is_asked_for_must_hold() -> None:
    assert tags(Filter(node="n2", claim="ns/one", tags=("claim.*",))) == [
        "claim.allocated.v1",
        "claim.prepared.v1",
    ]


def test_it_counts_and_remembers_names_for_the_one_who_misspelt() -> None:
    wanted = Filter(claim="ns/onne")
    assert tags(wanted) == []
    assert wanted.found == 0
    assert wanted.claims == {"ns/one", "ns/many"}
