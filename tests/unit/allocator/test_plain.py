"""The short cut for one plain request gives the search's answer, or none."""

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
    given,
    placed,
)
from histories import STEPS, Step, go_on, start
from hypothesis import given as generated
from hypothesis import strategies as st
from msgspec.structs import replace

from dra_allocator.core import grant
from dra_shared.events.allocations import AllocationFact
from dra_shared.kube.claims import (
    DeviceClassConfiguration,
    DeviceToleration,
    OpaqueDeviceConfiguration,
)
from dra_shared.kube.devices import (
    CapacityRange,
    CapacityRequestPolicy,
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
)


def told(steps: list[Step]) -> list[object]:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    return [record.envelope.fact for record in story.records]


@generated(STEPS)
def test_decisions_are_the_same_with_and_without_the_short_cut(steps: list[Step]) -> None:
    with_it = told(steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grant, "pick", lambda *_: None)
        assert told(steps) == with_it


def both_ways(story: Story) -> list[AllocationFact]:
    """What is decided on p2 after p1, the same with the short cut and without."""
    story.tell(a_claim("c1"), a_pod("p1", "c1"), a_claim("c2"), a_pod("p2", "c2"))
    other = Story(story.policy)
    for record in story.records:
        other.append(record.envelope)
    facts = story.decide()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grant, "pick", lambda *_: None)
        assert other.decide() == facts
    return facts


def test_configuration_and_tolerations_come_along() -> None:
    observed = a_class()
    config = DeviceClassConfiguration(opaque=OpaqueDeviceConfiguration(driver="d", parameters={}))
    spec = replace(observed.device_class.spec, config=(config,))
    observed = replace(observed, device_class=replace(observed.device_class, spec=spec))
    story = Story().tell(observed, a_node("n1"))
    story.tell(
        a_pool("n1", ["d0", a_device("d1", taints=(DeviceTaint(key="k", effect="NoSchedule"),))])
    )
    request = a_request(tolerations=(DeviceToleration(key="k", operator="Exists"),))
    story.tell(a_claim("c3", request), a_pod("p3", "c3"))
    assert placed(both_ways(story))


def partition(name: str) -> Device:
    consumed = DeviceCounterConsumption(counter_set="s", counters={"n": Counter(value="1")})
    return a_device(name, consumes_counters=(consumed,))


@pytest.mark.parametrize(
    "odd",
    [
        partition("d0"),
        a_device("d0", allow_multiple_allocations=True),
        a_device("d0", binding_conditions=("c",), binding_failure_conditions=("f",)),
    ],
    ids=["partition", "share", "binding"],
)
def test_devices_that_are_not_whole_are_given_as_the_search_gives_them(odd: Device) -> None:
    pool = a_pool("n1", [odd, "d1", "d2"])
    counters = CounterSet(name="s", counters={"n": Counter(value="1")})
    sets = replace(pool.slices[0], devices=None, shared_counters=(counters,))
    parts = tuple(
        replace(part, pool=replace(part.pool, resource_slice_count=2))
        for part in (*pool.slices, sets)
    )
    story = Story("first-fit").tell(a_class(), a_node("n1"), replace(pool, slices=parts))
    facts = both_ways(story)
    assert given(facts)["c1"] == ["d0"]


ATTRIBUTES = st.sampled_from(
    (
        None,
        DeviceAttribute(integer=0),
        DeviceAttribute(integer=1),
        DeviceAttribute(string="0"),
        DeviceAttribute(ints=(0, 1)),
    )
)
KINDS = st.sampled_from(("whole", "whole", "whole", "partition", "share"))
DEVICES = st.lists(st.tuples(ATTRIBUTES, KINDS), min_size=1, max_size=6)


def a_mixed_device(number: int, attribute: DeviceAttribute | None, kind: str) -> Device:
    attributes = {} if attribute is None else {"numa": attribute}
    if kind == "partition":
        return replace(partition(f"d{number}"), attributes=attributes)
    if kind == "whole":
        return a_device(f"d{number}", attributes=attributes)
    policy = CapacityRequestPolicy(default="2", valid_range=CapacityRange(min="1"))
    memory = DeviceCapacity(value="4", request_policy=policy)
    return a_device(
        f"d{number}",
        attributes=attributes,
        capacity={"memory": memory},
        allow_multiple_allocations=True,
    )


@generated(
    pools=st.lists(DEVICES, min_size=1, max_size=2),
    counts=st.lists(st.integers(1, 3), min_size=4, max_size=8),
    matched=st.booleans(),
)
def test_mixed_devices_are_given_as_the_search_gives_them(
    pools: list[list[tuple[DeviceAttribute | None, str]]], counts: list[int], *, matched: bool
) -> None:
    counters = CounterSet(name="s", counters={"n": Counter(value="2")})
    story = Story().tell(a_class("any", "true"), a_node("n0"))
    for number, kinds in enumerate(pools):
        devices = [a_mixed_device(place, *one) for place, one in enumerate(kinds)]
        pool = a_pool("n0", devices, driver=f"driver-{number}.example")
        sets = replace(pool.slices[0], devices=None, shared_counters=(counters,))
        parts = (*pool.slices, sets)
        whole = tuple(
            replace(part, pool=replace(part.pool, resource_slice_count=2)) for part in parts
        )
        story.tell(replace(pool, slices=whole))
    match = "driver-0.example/numa" if matched else ""
    for number, count in enumerate(counts):
        story.tell(a_claim(f"x{number}", a_request("r", count), match=match))
        story.tell(a_pod(f"x{number}", f"x{number}"))
    both_ways(story)
