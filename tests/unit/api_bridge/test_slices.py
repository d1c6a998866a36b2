"""How pools become slices, and how slices that are not as they should be are put right."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.api_bridge.world import World, a_node

from dra_api_bridge.core.objects import Kind
from dra_api_bridge.core.requests import (
    CreateSlice,
    DeleteSlice,
    SliceWrite,
    UpdateSlice,
    requests,
)
from dra_api_bridge.core.slices import lost_fields, slice_name
from dra_api_bridge.core.steps import end, refuse
from dra_shared.events.cluster import FeaturesObserved, ForeignSlicesObserved, ForeignSlicesRemoved
from dra_shared.events.mirror import SliceRefused
from dra_shared.events.pools import PoolPublished, PoolWithdrawn, WithdrawalReason
from dra_shared.kube.devices import ResourceSliceSpec

DRIVER = "gpu.example.com"
API = "/apis/resource.k8s.io/v1"
DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def a_spec(*devices: str, generation: int = 1, count: int = 1, **more: Any) -> ResourceSliceSpec:
    given = {
        "driver": DRIVER,
        "pool": {"name": "n1", "generation": generation, "resourceSliceCount": count},
        "nodeName": "n1",
        "devices": [{"name": name} for name in devices],
        **more,
    }
    return msgspec.convert(given, ResourceSliceSpec)


def published(*specs: ResourceSliceSpec, generation: int = 1) -> PoolPublished:
    return PoolPublished(
        driver=DRIVER, pool="n1", node="n1", generation=generation, slices=tuple(specs)
    )


def a_world(*specs: ResourceSliceSpec) -> World:
    world = World().see(Kind.NODES, a_node()).told(published(*specs))
    world.facts()
    return world


def shown(write: SliceWrite, version: int, **spec: Any) -> dict[str, Any]:
    """The slice as the server keeps it after the write."""
    item = msgspec.to_builtins(write.item)
    metadata = {**item["metadata"], "uid": f"uid-{version}", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {**item["spec"], **spec}}


def carried_out(world: World, version: int = 10) -> list[dict[str, Any]]:
    """All writes are taken and seen."""
    items = []
    for number, write in enumerate(world.writes()):
        assert isinstance(write, SliceWrite)
        item = shown(write, version + number)
        end(world.mirror, write, version + number, msgspec.json.encode(item))
        items.append(item)
    world.see(Kind.SLICES, *items)
    return items


def names(writes: list[Any]) -> list[str]:
    return [write.item.metadata.name for write in writes]


def test_each_slice_is_created_under_its_node_in_the_order_of_the_pool() -> None:
    writes = a_world(a_spec("a", count=2), a_spec("b", count=2)).writes()
    assert [type(write) for write in writes] == [CreateSlice, CreateSlice]
    assert names(writes) == sorted(names(writes))
    (request,) = requests(writes[0], API)
    assert (request.method, request.path) == ("POST", f"{API}/resourceslices")
    body = msgspec.json.decode(request.body or b"")
    assert body["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1-uid", "controller": True}
    ]
    assert body["spec"]["pool"] == {"name": "n1", "generation": 1, "resourceSliceCount": 2}


def test_what_is_as_it_should_be_is_not_written_again() -> None:
    world = a_world(a_spec("a"))
    carried_out(world)
    assert world.writes() == []


def test_a_new_edition_deletes_first_then_updates_then_creates() -> None:
    world = a_world(a_spec("a", count=2), a_spec("b", count=2))
    _, second = carried_out(world)
    world.told(published(a_spec("c", generation=2), generation=2))
    assert [type(write) for write in world.writes()] == [DeleteSlice]
    world.miss(Kind.SLICES, second["metadata"]["name"], "")
    assert [type(write) for write in world.writes()] == [UpdateSlice]


def test_an_update_relies_on_the_version_it_replaces() -> None:
    world = a_world(a_spec("a"))
    carried_out(world)
    world.told(published(a_spec("b", generation=2), generation=2))
    (write,) = world.writes()
    (request,) = requests(write, API)
    metadata = msgspec.json.decode(request.body or b"")["metadata"]
    assert (request.method, metadata["resourceVersion"]) == ("PUT", "10")


def test_a_deletion_is_of_this_very_slice() -> None:
    world = a_world(a_spec("a"))
    carried_out(world)
    reason = WithdrawalReason.DRIVER_GONE
    world.told(PoolWithdrawn(driver=DRIVER, pool="n1", node="n1", reason=reason))
    (write,) = world.writes()
    (request,) = requests(write, API)
    assert msgspec.json.decode(request.body or b"") == {
        "preconditions": {"uid": "uid-10", "resourceVersion": "10"}
    }


def test_a_slice_that_others_delete_comes_back() -> None:
    world = a_world(a_spec("a"))
    (item,) = carried_out(world)
    world.miss(Kind.SLICES, item["metadata"]["name"], "")
    assert [type(write) for write in world.writes()] == [CreateSlice]


def test_a_node_of_the_same_name_gets_the_slices_as_its_own() -> None:
    world = a_world(a_spec("a"))
    carried_out(world)
    successor = a_node(version=20)
    successor["metadata"]["uid"] = "new-uid"
    (write,) = world.see(Kind.NODES, successor).writes()
    assert isinstance(write, UpdateSlice)
    (owner,) = write.item.metadata.owner_references or ()
    assert owner.uid == "new-uid"


def test_nothing_is_published_before_the_node_is_there() -> None:
    world = World().told(published(a_spec("a")))
    assert world.writes() == []
    assert len(world.see(Kind.NODES, a_node()).writes()) == 1


def test_a_refused_edition_is_told_once_and_only_the_next_is_tried() -> None:
    world = a_world(a_spec("a"))
    (write,) = world.writes()
    refuse(world.mirror, write, 422, "bad name")
    assert world.writes() == []
    (fact,) = world.facts()
    assert fact == SliceRefused(driver=DRIVER, pool="n1", status=422, message="bad name")
    assert (world.writes(), world.facts()) == ([], [])
    world.told(published(a_spec("b", generation=2), generation=2))
    assert [type(write) for write in world.writes()] == [CreateSlice]


def other_features(world: World) -> None:
    """The API server comes back with another feature."""
    world.told(FeaturesObserved(server_version="v1.37.2", features=("DeviceTaints",)))
    world.mirror.features = FeaturesObserved(server_version="v1.37.2", features=("DeviceTaints",))


def test_what_was_refused_is_tried_again_once_the_server_has_other_features() -> None:
    world = a_world(a_spec("a"))
    (write,) = world.writes()
    refuse(world.mirror, write, 422, "a feature is off")
    world.facts()
    assert world.writes() == []
    other_features(world)
    assert [type(write) for write in world.writes()] == [CreateSlice]
    assert [type(write) for write in world.restarted().writes()] == [CreateSlice]


def test_what_was_dropped_is_written_again_once_the_server_has_other_features() -> None:
    taints = [{"key": "k", "effect": "NoSchedule"}]
    world = a_world(a_spec(devices=[{"name": "a", "taints": taints}]))
    (write,) = world.writes()
    assert isinstance(write, SliceWrite)
    bare = shown(write, 10, devices=[{"name": "a"}])
    end(world.mirror, write, 10, msgspec.json.encode(bare))
    world.see(Kind.SLICES, bare)
    world.facts()
    assert world.writes() == []
    other_features(world)
    assert [type(write) for write in world.writes()] == [UpdateSlice]


def test_fields_that_the_server_drops_are_told_once_and_not_written_for_ever() -> None:
    world = a_world(
        a_spec(devices=[{"name": "a", "taints": [{"key": "k", "effect": "NoSchedule"}]}])
    )
    (write,) = world.writes()
    assert isinstance(write, SliceWrite)
    bare = shown(write, 10, devices=[{"name": "a"}])
    lost = end(world.mirror, write, 10, msgspec.json.encode(bare))
    assert lost == ("devices.taints",)
    world.see(Kind.SLICES, bare)
    (fact,) = world.facts()
    assert isinstance(fact, SliceRefused)
    assert fact.status == 200
    assert (world.writes(), world.facts()) == ([], [])
    world.miss(Kind.SLICES, bare["metadata"]["name"], "")
    assert [type(each) for each in world.writes()] == [CreateSlice]


@pytest.mark.parametrize(
    ("seen", "wanted", "lost"),
    [
        ({"capacity": {"m": {"value": "1Gi"}}}, {"capacity": {"m": {"value": "1024Mi"}}}, ()),
        ({"attributes": None}, {"attributes": {}}, ()),
        (
            {"taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]},
            {"taints": [{"key": "k", "effect": "NoSchedule"}]},
            (),
        ),
        (
            {"attributes": {"a": {"int": 1}}},
            {"attributes": {"a": {"int": 2}}},
            ("devices.attributes.a.int",),
        ),
        ({}, {"allowMultipleAllocations": True}, ("devices.allowMultipleAllocations",)),
    ],
    ids=["quantities are numbers", "null is empty", "the server's time", "a value", "a lost field"],
)
def test_differences_are_told_by_field(seen: Any, wanted: Any, lost: tuple[str, ...]) -> None:
    have = a_spec(devices=[{"name": "a", **seen}])
    want = a_spec(devices=[{"name": "a", **wanted}])
    assert lost_fields(have, want) == lost


def test_slices_of_a_driver_of_ours_are_never_foreign() -> None:
    item = {"metadata": {"name": "s", "uid": "u", "resourceVersion": "5"}}
    world = World().see(Kind.NODES, a_node()).see(Kind.SLICES, {**item, "spec": a_wire_spec("x")})
    assert ForeignSlicesObserved in [type(fact) for fact in world.facts()]
    world.told(published(a_spec("a")))
    assert world.facts() == [ForeignSlicesRemoved(driver=DRIVER, pool="n1")]
    assert [(type(write), names([write])) for write in world.writes()] == [(DeleteSlice, ["s"])]


def a_wire_spec(*devices: str) -> Any:
    return msgspec.to_builtins(a_spec(*devices))


@given(
    st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]{1,9}){0,3}", fullmatch=True),
    st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?([./][a-z0-9]{1,30}){0,8}", fullmatch=True),
    st.integers(0, 5000),
)
def test_a_slices_name_is_one_the_api_takes(driver: str, pool: str, index: int) -> None:
    name = slice_name(driver, pool, index)
    assert DNS_SUBDOMAIN.fullmatch(name)
    assert len(name) <= 253


def test_pools_whose_names_look_alike_have_slices_of_their_own() -> None:
    assert slice_name("d", "a/b", 0) != slice_name("d", "a-b", 0)
