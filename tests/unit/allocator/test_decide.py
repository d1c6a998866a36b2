"""Where pods go and what their claims get."""

import msgspec
import pytest
from cluster import (
    Story,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_pool,
    a_request,
    ended,
    given,
    placed,
    ref,
    refused,
)

from dra_allocator.core.policy import (
    ORDERS,
    POLICIES,
    UnknownPolicyError,
    policy_name,
    policy_of,
)
from dra_allocator.settings import AllocatorSettings
from dra_shared.events.allocations import ClaimAllocated, ReasonKind, Refusal
from dra_shared.events.mirror import AllocationCleared, AllocationRefused, ClearedBy
from dra_shared.events.pools import NodeLost, NodeReturned
from dra_shared.events.writers import EpochOpened
from dra_shared.kube.claims import (
    CapacityRequirements,
    DeviceClaim,
    DeviceRequest,
    DeviceSubRequest,
    ResourceClaimSpec,
)
from dra_shared.kube.core import Taint, Toleration
from dra_shared.kube.devices import Device, DeviceAttribute, DeviceCapacity
from dra_shared.runtime.settings import load


def two_nodes(policy: str = "pack") -> Story:
    """n1 with four free devices, n2 with one."""
    return Story(policy).tell(
        a_class(),
        a_node("n1"),
        a_node("n2"),
        a_pool("n1", ["d0", "d1", "d2", "d3"]),
        a_pool("n2", ["d0"]),
    )


def test_pack_fills_the_fullest_node_first() -> None:
    story = two_nodes().tell(a_claim("c1"), a_pod("p1", "c1"))
    assert placed(story.decide()) == {"p1": "n2"}
    story.tell(a_claim("c2", a_request(count=4)), a_pod("p2", "c2"))
    assert placed(story.decide()) == {"p2": "n1"}


def sized(*sizes: str) -> Story:
    """A node with devices of these sizes, listed in this order."""
    parts = [a_device(f"d{s}", capacity={"memory": DeviceCapacity(value=f"{s}Gi")}) for s in sizes]
    return Story().tell(a_class(), a_node("n1"), a_pool("n1", parts))


@pytest.mark.parametrize("sizes", [("10", "20", "80"), ("80", "20", "10")], ids=["up", "down"])
def test_pack_takes_the_smallest_device_that_will_do(sizes: tuple[str, ...]) -> None:
    capacity = 'device.capacity["dev.lab.example"].memory.compareTo(quantity("{}Gi")) >= 0'.format
    story = sized(*sizes)
    story.tell(a_claim("c3", a_request("r", 1, capacity(8))), a_pod("p3", "c3"))
    story.tell(a_claim("c4", a_request("r", 1, capacity(70))), a_pod("p4", "c4"))
    assert given(story.decide()) == {"c3": ["d10"], "c4": ["d80"]}


def test_a_pool_of_more_devices_than_a_machine_word_has_bits_is_counted() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", [f"d{n}" for n in range(100)]))
    story.tell(*(fact for n in range(4) for fact in (
        a_claim(f"c{n}", a_request(count=32)), a_pod(f"p{n}", f"c{n}")
    )))  # fmt: skip
    assert len(placed(story.decide())) == 3


def test_spread_fills_the_emptiest_node_first() -> None:
    story = two_nodes("spread").tell(a_claim("c1"), a_pod("p1", "c1"))
    assert placed(story.decide()) == {"p1": "n1"}


def test_first_fit_goes_by_name() -> None:
    story = two_nodes("first-fit").tell(a_claim("c1"), a_pod("p1", "c1"))
    assert placed(story.decide()) == {"p1": "n1"}


def test_a_policy_that_is_not_there_is_named() -> None:
    with pytest.raises(
        UnknownPolicyError, match=r"'best'; there are first-fit, first-fit\+strict-cards, pack"
    ):
        policy_of("best")


def test_settings_know_all_policies() -> None:
    named = [
        load(AllocatorSettings, {"POLICY": order, "STRICT_CARDS": strict})
        for order in ORDERS
        for strict in ("false", "true")
    ]
    assert {policy_name(one.policy, strict_cards=one.strict_cards) for one in named} == {*POLICIES}
    assert load(AllocatorSettings, {}).strict_cards is False


def test_the_decision_says_what_it_rests_on() -> None:
    story = two_nodes().tell(a_claim("c1"), a_pod("p1", "c1"))
    (fact,) = story.decide()
    envelope = story.records[-1].envelope
    assert isinstance(fact, ClaimAllocated)
    assert (fact.policy, fact.time) == ("pack", "1970-01-01T00:00:07Z")
    assert fact.claims[0].allocation.allocation_timestamp == fact.time
    assert (envelope.id, envelope.cause, envelope.actor) == ("allocator:7:0", 7, "allocator@1")
    assert envelope.correlation == "p1-uid"


def test_all_claims_of_a_pod_go_to_one_node() -> None:
    story = two_nodes().tell(a_claim("c1"), a_claim("c2"), a_pod("p1", "c1", "c2"))
    facts = story.decide()
    assert placed(facts) == {"p1": "n1"}
    assert given(facts) == {"c1": ["d0"], "c2": ["d1"]}


def test_a_pod_gets_all_its_claims_or_none() -> None:
    story = two_nodes().tell(
        a_claim("c1"), a_claim("c2", a_request(count=4)), a_pod("p1", "c1", "c2")
    )
    facts = story.decide()
    assert given(facts) == {}
    assert refused(facts)["p1"].refusal is Refusal.UNSATISFIABLE


def test_constraints_are_searched_for_on_every_node_that_has_enough() -> None:
    def numa(device: str, number: int) -> Device:
        return a_device(device, attributes={"numa": DeviceAttribute(integer=number)})

    story = Story().tell(
        a_class(),
        a_node("n1"),
        a_node("n2"),
        a_pool("n1", [numa("d0", 0), numa("d1", 1)]),
        a_pool("n2", [numa("d0", 1), numa("d1", 0), numa("d2", 1)]),
        a_claim("c1", a_request(count=2), match="dev.lab.example/numa"),
        a_pod("p1", "c1"),
    )
    facts = story.decide()
    assert placed(facts) == {"p1": "n2"}
    assert given(facts) == {"c1": ["d0", "d2"]}


def test_shares_of_one_device_go_to_several_claims() -> None:
    share = a_device(
        "d0", allow_multiple_allocations=True, capacity={"slots": DeviceCapacity(value="2")}
    )
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", [share]))
    capacity = {"slots": "1"}
    for name in ("1", "2", "3"):
        request = a_request(capacity=CapacityRequirements(requests=capacity))
        story.tell(a_claim(f"c{name}", request), a_pod(f"p{name}", f"c{name}"))
    facts = story.decide()
    assert given(facts) == {"c1": ["d0"], "c2": ["d0"]}
    ids = {
        c.share_id
        for f in facts
        if isinstance(f, ClaimAllocated)
        for g in f.claims
        for c in g.costs
    }
    assert len(ids) == 2
    assert refused(facts)["p3"].reasons[0].kind is ReasonKind.CAPACITY


def test_a_shared_claim_binds_its_next_pod_to_its_node() -> None:
    story = two_nodes().tell(a_claim("c1"), a_pod("p1", "c1"), a_pod("p2", "c1"))
    _, second = story.decide()
    assert isinstance(second, ClaimAllocated)
    assert second.node == "n2"
    assert (second.claims, second.shared) == ((), (ref("c1"),))


def test_a_new_claim_goes_where_the_shared_one_is() -> None:
    story = two_nodes("spread").tell(a_claim("c1"), a_pod("p1", "c1"))
    story.decide()
    story.tell(a_claim("c2"), a_pod("p2", "c1", "c2"))
    facts = story.decide()
    assert placed(facts) == {"p2": "n1"}
    assert given(facts) == {"c2": ["d1"]}


def test_no_more_than_256_pods_use_one_claim() -> None:
    story = Story().tell(a_class(), a_node("n1", pods=300), a_pool("n1", ["d0"]), a_claim("c1"))
    story.tell(*(a_pod(f"p{n}", "c1") for n in range(257)))
    (no,) = refused(story.decide()).values()
    assert no.summary == "claim ns/c1 is used by 256 pods, no more may use it"


def test_a_lost_node_gets_nothing_until_it_returns() -> None:
    story = two_nodes().tell(NodeLost(node="n2", silent_for=9), a_claim("c1"), a_pod("p1", "c1"))
    assert placed(story.decide()) == {"p1": "n1"}
    story.tell(NodeReturned(node="n2"), a_claim("c2"), a_pod("p2", "c2"))
    assert placed(story.decide()) == {"p2": "n2"}


def test_nodes_are_left_out_that_the_pod_does_not_fit() -> None:
    story = two_nodes().tell(
        a_node("n2", cpu_milli=500), a_claim("c1"), a_pod("p1", "c1", cpu_milli=600)
    )
    assert placed(story.decide()) == {"p1": "n1"}


def test_our_own_pods_take_room_on_their_node_until_they_end() -> None:
    story = Story().tell(a_class(), a_node("n1", pods=1), a_pool("n1", ["d0", "d1"]))
    story.tell(a_claim("c1"), a_pod("p1", "c1"), a_claim("c2"), a_pod("p2", "c2"))
    facts = story.decide()
    assert placed(facts) == {"p1": "n1"}
    assert refused(facts)["p2"].summary == (
        "0/1 nodes can satisfy: 2 devices on nodes that do not fit (too many pods)"
    )
    story.tell(ended("p1"))
    assert placed(story.decide()) == {"p2": "n1"}


def test_tolerations_lift_taints_of_nodes() -> None:
    taint = Taint(key="infra", value="yes", effect="NoSchedule")
    story = two_nodes().tell(a_node("n2", taints=(taint,)), a_claim("c1"), a_pod("p1", "c1"))
    assert placed(story.decide()) == {"p1": "n1"}
    toleration = Toleration(key="infra", operator="Exists")
    story.tell(a_claim("c2"), a_pod("p2", "c2", tolerations=(toleration,)))
    assert placed(story.decide()) == {"p2": "n2"}


def test_the_first_alternative_is_worth_another_node() -> None:
    def sub(name: str, model: str) -> DeviceSubRequest:
        return DeviceSubRequest(name=name, device_class_name=model)

    model = 'device.attributes["dev.lab.example"].model == "{}"'.format
    story = Story("first-fit").tell(
        a_class("big", model("big")),
        a_class("small", model("small")),
        a_node("n1"),
        a_node("n2"),
        a_pool("n1", [a_device("d0", attributes={"model": DeviceAttribute(string="small")})]),
        a_pool("n2", [a_device("d0", attributes={"model": DeviceAttribute(string="big")})]),
    )
    request = DeviceRequest(name="r", first_available=(sub("one", "big"), sub("two", "small")))
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=(request,)))
    for number in (1, 2):
        story.tell(msgspec.structs.replace(a_claim(f"c{number}"), spec=spec))
        story.tell(a_pod(f"p{number}", f"c{number}"))
    assert placed(story.decide()) == {"p1": "n2", "p2": "n1"}


def test_an_error_on_one_node_does_not_keep_the_pod_from_another() -> None:
    only_new = 'device.attributes["dev.lab.example"].age < 3'
    story = Story("first-fit").tell(
        a_class("any", only_new),
        a_node("n1"),
        a_node("n2"),
        a_pool("n1", ["d0"]),
        a_pool("n2", [a_device("d0", attributes={"age": DeviceAttribute(integer=1)})]),
        a_claim("c1"),
        a_pod("p1", "c1"),
        a_claim("c2"),
        a_pod("p2", "c2"),
    )
    facts = story.decide()
    assert placed(facts) == {"p1": "n2"}
    assert refused(facts)["p2"].refusal is Refusal.INVALID
    assert "d0" in refused(facts)["p2"].summary


def test_a_class_that_is_not_there_is_named() -> None:
    story = Story().tell(a_node("n1"), a_pool("n1", ["d0"]), a_claim("c1"), a_pod("p1", "c1"))
    no = refused(story.decide())["p1"]
    assert no.refusal is Refusal.INVALID
    assert no.summary == "claim c1, request r: there is no DeviceClass any"


def test_admin_access_needs_a_namespace_that_allows_it() -> None:
    story = two_nodes()
    story.tell(a_claim("c1", a_request(admin_access=True)), a_pod("p1", "c1"))
    assert "admin access" in refused(story.decide())["p1"].summary
    story.tell(a_claim("c2", a_request(admin_access=True), admin_namespace=True), a_pod("p2", "c2"))
    assert placed(story.decide()) == {"p2": "n2"}


def test_admin_access_takes_nothing_from_others() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
    admin = a_claim("c1", a_request(admin_access=True), admin_namespace=True)
    story.tell(admin, a_pod("p1", "c1"), a_claim("c2"), a_pod("p2", "c2"))
    assert given(story.decide()) == {"c1": ["d0"], "c2": ["d0"]}


def test_a_node_where_the_pod_could_not_run_is_left_out_until_it_changes() -> None:
    story = two_nodes().tell(a_claim("c1"), a_pod("p1", "c1"))
    assert placed(story.decide()) == {"p1": "n2"}
    cleared = AllocationCleared(claim=ref("c1"), by=ClearedBy.BRIDGE, unfit_node="n2")
    story.tell(cleared)
    assert placed(story.decide()) == {"p1": "n1"}
    story.tell(a_node("n2"), AllocationCleared(claim=ref("c1"), by=ClearedBy.OTHERS))
    assert placed(story.decide()) == {"p1": "n1"}
    story.tell(a_node("n2", cpu_milli=1), AllocationCleared(claim=ref("c1"), by=ClearedBy.OTHERS))
    assert placed(story.decide()) == {"p1": "n2"}


def test_what_kubernetes_refused_is_not_tried_again_until_a_new_bridge_comes() -> None:
    story = two_nodes().tell(a_claim("c1"), a_pod("p1", "c1"))
    story.decide()
    story.tell(AllocationRefused(claim=ref("c1"), status=422, message="invalid"))
    facts = story.decide()
    assert refused(facts)["p1"].summary == (
        "Kubernetes refused the allocation of claim ns/c1: 422 invalid"
    )
    story.tell(EpochOpened(writer="api-bridge", holder="next"))
    assert placed(story.decide()) == {"p1": "n2"}


def test_priority_comes_before_arrival() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", ["d0"]))
    story.tell(a_claim("c1"), a_pod("p1", "c1"), a_claim("c2"), a_pod("p2", "c2", priority=5))
    assert placed(story.decide()) == {"p2": "n1"}


def test_a_search_that_failed_is_not_repeated_on_nodes_that_are_alike() -> None:
    apart = [a_device(f"d{n}", attributes={"numa": DeviceAttribute(integer=n)}) for n in range(8)]
    story = Story().tell(a_class(), *(a_node(f"n{n}") for n in range(300)))
    story.tell(*(a_pool(f"n{n}", apart) for n in range(300)))
    claim = a_claim("c1", a_request(count=2), match="dev.lab.example/numa")
    no = refused(story.tell(claim, a_pod("p1", "c1")).decide())["p1"]
    assert no.refusal is Refusal.UNSATISFIABLE, "300 searches of 36 steps would reach the limit"
    assert no.summary.startswith("0/300 nodes can satisfy: 2400 devices against a constraint")
