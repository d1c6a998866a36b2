"""The reasons of a refusal: counted over all devices, in one line."""

import msgspec
from cluster import Story, a_claim, a_class, a_device, a_node, a_pod, a_pool, a_request, refused
from histories import STEPS, Step, a_rule, go_on, start
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dra_allocator.core.demand import Demand
from dra_allocator.core.fold.registers import PendingPod
from dra_allocator.core.why import Sum, Why, refusal
from dra_shared.events.allocations import ClaimUnsatisfiable, ReasonKind, Refusal
from dra_shared.events.fact import MOST_BYTES
from dra_shared.kube.devices import DeviceAttribute


@given(STEPS)
def test_reasons_sum_to_all_devices_that_were_looked_at(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    for record in story.records:
        fact = record.envelope.fact
        if isinstance(fact, ClaimUnsatisfiable):
            assert sum(reason.devices for reason in fact.reasons) == fact.devices


def test_one_line_says_what_is_in_the_way() -> None:
    old = a_device("d1", attributes={"age": DeviceAttribute(integer=9)})
    new = a_device("d0", attributes={"age": DeviceAttribute(integer=1)})
    story = Story().tell(
        a_class("any", 'device.attributes["dev.lab.example"].age < 3'),
        *(a_node(name) for name in ("n1", "n2", "n3")),
        a_node("n4", unschedulable=True),
        a_pool("n1", [new, old]),
        a_pool("n2", [new, old]),
        a_pool("n4", [new, old, a_device("d2")]),
        a_rule("r", "n2", "d0"),
        a_claim("c1"),
        a_pod("p1", "c1"),
        a_claim("c2"),
        a_pod("p2", "c2"),
    )
    no = refused(story.decide())["p2"]
    assert (no.devices, no.nodes) == (7, 4)
    assert no.summary == (
        "0/4 nodes can satisfy: 3 devices on nodes that do not fit (unschedulable), "
        "2 not selected, 1 in use, 1 tainted (broken:NoSchedule), no devices on 1 node"
    )


def test_devices_that_are_free_but_too_few_are_told_apart() -> None:
    story = Story().tell(a_class(), a_node("n1"), a_node("n2"))
    story.tell(a_pool("n1", ["d0"]), a_pool("n2", ["d0"]))
    story.tell(a_claim("c1", a_request(count=2)), a_pod("p1", "c1"))
    (reason,) = refused(story.decide())["p1"].reasons
    assert (reason.kind, reason.devices) == (ReasonKind.NOT_ENOUGH, 2)


def test_an_incomplete_pool_is_named() -> None:
    pool = a_pool("n1", ["d0"])
    spec = pool.slices[0]
    half = replace(pool, slices=(replace(spec, pool=replace(spec.pool, resource_slice_count=2)),))
    story = Story().tell(a_class(), a_node("n1"), half, a_claim("c1"), a_pod("p1", "c1"))
    summary = refused(story.decide())["p1"].summary
    assert summary.startswith("0/1 nodes can satisfy: 1 device in incomplete pools (")


def test_a_cluster_without_nodes_says_so() -> None:
    story = Story().tell(a_class(), a_claim("c1"), a_pod("p1", "c1"))
    assert refused(story.decide())["p1"].summary == "0/0 nodes can satisfy: there are no nodes"


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(ReasonKind), st.text(max_size=3)),
        st.tuples(st.integers(0, 5), st.integers(1, 5)).map(lambda pair: Sum(*pair)),
        max_size=300,
    ),
    st.integers(1, 9_000),
)
def test_however_many_and_long_reasons_are_they_add_up_and_fit_into_the_log(
    sums: dict[Why, Sum], length: int
) -> None:
    long = {(kind, detail + detail[:1] * length): found for (kind, detail), found in sums.items()}
    demand = Demand(PendingPod(a_pod("p", "c"), 1), (), ())
    fact = refusal(demand, Refusal.UNSATISFIABLE, long, nodes=9)
    assert sum(reason.devices for reason in fact.reasons) == fact.devices
    assert fact.devices == sum(found.devices for found in long.values())
    assert {reason.kind for reason in fact.reasons} == {kind for kind, _ in long}
    assert len(msgspec.json.encode(fact)) < MOST_BYTES
