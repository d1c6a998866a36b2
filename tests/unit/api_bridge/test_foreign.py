"""However other drivers' pools grow and change, the log ends with them as they are, in events that fit."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from unit.api_bridge.world import World

from dra_api_bridge.core.attempts import LARGEST
from dra_api_bridge.core.foreign import PART
from dra_api_bridge.core.objects import Kind, Topic, Work
from dra_shared.events.cluster import (
    ForeignSlicesChanged,
    ForeignSlicesObserved,
    ForeignSlicesRemoved,
)
from dra_shared.events.envelope import encode

POOL = Work(Topic.POOL, "foreign", "p")
SIZES = st.sampled_from(
    [10, PART // 4, PART // 2, PART + 10, LARGEST - 2500, LARGEST - 2000, LARGEST]
)
STEPS = st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | SIZES), max_size=12)


def a_slice(name: str, size: int, version: int) -> Any:
    device = {"name": "d", "attributes": {"a": {"string": "x" * size}}}
    pool = {"name": "p", "generation": version, "resourceSliceCount": 1}
    spec = {"driver": "foreign", "pool": pool, "allNodes": True, "devices": [device]}
    return {"metadata": {"name": name, "uid": name, "resourceVersion": str(version)}, "spec": spec}


def show(world: World, name: str, size: int | None, version: int) -> None:
    if size is None and name in {item.metadata.name for item in shown(world)}:
        world.miss(Kind.SLICES, name, "")
    elif size is not None:
        world.see(Kind.SLICES, a_slice(name, size, version))


def size_of(item: Any) -> int:
    return len(item.spec.devices[0].attributes["a"].string)


def shown(world: World) -> tuple[Any, ...]:
    return world.mirror.observed.slices("foreign", "p")


@given(steps=STEPS, at_once=st.sampled_from([True, False]))
def test_the_log_ends_with_all_that_fits_into_an_event(
    steps: list[tuple[str, int | None]], *, at_once: bool
) -> None:
    world = World()
    for version, (name, size) in enumerate(steps, start=1):
        show(world, name, size, version)
        if not at_once:
            world.facts()
    world.facts()
    fitting = [item for item in shown(world) if size_of(item) <= LARGEST - 2500]
    recorded = world.mirror.recorded.cluster.get(POOL)
    if fitting:
        assert isinstance(recorded, ForeignSlicesObserved)
        assert [item.spec for item in recorded.slices] == [item.spec for item in fitting]
    else:
        assert recorded is None
    assert all(len(encode(record.envelope)) <= LARGEST for record in world.records)
    place = Work(Topic.SLICE, "foreign", "p")
    assert (place in world.mirror.attempts.too_large) == (len(fitting) < len(shown(world)))
    assert world.facts() == []


def test_a_small_pool_is_told_whole_and_its_end_too() -> None:
    world = World()
    show(world, "a", 10, 1)
    show(world, "b", 10, 2)
    assert [type(fact) for fact in world.facts()] == [ForeignSlicesObserved]
    show(world, "a", None, 3)
    show(world, "b", None, 4)
    assert world.facts() == [ForeignSlicesRemoved(driver="foreign", pool="p")]


def test_a_large_pool_is_told_in_parts_that_name_what_went() -> None:
    world = World()
    for version, name in enumerate("abcde", start=1):
        show(world, name, PART // 2 - 1000, version)
    parts = [[item.metadata.name for item in fact.slices] for fact in world.facts()]
    assert parts == [["a", "b"], ["c", "d"], ["e"]]
    show(world, "b", None, 9)
    (fact,) = world.facts()
    assert fact == ForeignSlicesChanged(driver="foreign", pool="p", removed=("b",))
