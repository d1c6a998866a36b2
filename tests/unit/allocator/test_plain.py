"""The short cut for whole devices gives the search's answer, or none."""

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
from msgspec.structs import replace

from dra_allocator.core import decide as deciding
from dra_shared.events.allocations import AllocationFact
from dra_shared.kube.claims import (
    DeviceClassConfiguration,
    DeviceToleration,
    OpaqueDeviceConfiguration,
)
from dra_shared.kube.devices import (
    Counter,
    CounterSet,
    Device,
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
        patch.setattr(deciding, "pick", lambda *_: None)
        assert told(steps) == with_it


def both_ways(story: Story) -> list[AllocationFact]:
    """What is decided on p2 after p1, the same with the short cut and without."""
    story.tell(a_claim("c1"), a_pod("p1", "c1"), a_claim("c2"), a_pod("p2", "c2"))
    other = Story(story.policy)
    for record in story.records:
        other.append(record.envelope)
    facts = story.decide()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deciding, "pick", lambda *_: None)
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
def test_devices_that_are_not_whole_and_plain_are_left_to_the_search(odd: Device) -> None:
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
