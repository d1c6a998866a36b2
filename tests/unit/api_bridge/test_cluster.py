"""What the log is told of classes, taint rules, nodes, other drivers' slices and features."""

from typing import Any

import pytest
from unit.api_bridge.world import World, a_claim, a_node, a_pod, allocated

from dra_api_bridge.core.features import UnknownFeatureError, check, features
from dra_api_bridge.core.objects import FEATURES, Kind
from dra_shared.events.cluster import (
    ClassObserved,
    ClassRemoved,
    FeaturesObserved,
    ForeignSlicesObserved,
    NodeObserved,
    NodeRemoved,
    TaintRuleObserved,
    TaintRuleRemoved,
)


def meta(name: str, version: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "uid": f"{name}-uid", "resourceVersion": str(version), **more}


def a_running_pod(name: str, cpu: str = "1", version: int = 1, phase: str = "Running") -> Any:
    pod = a_pod(name, (), version, schedulingGates=[], nodeName="n1")
    pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu, "memory": "1Gi"}
    return {**pod, "status": {"phase": phase}}


def only_node(world: World) -> NodeObserved:
    (fact,) = [fact for fact in world.facts() if isinstance(fact, NodeObserved)]
    return fact


def test_a_class_is_told_without_what_is_not_the_classes_own() -> None:
    spec = {"selectors": [{"cel": {"expression": "true"}}]}
    shown = {"metadata": meta("gpu", annotations={"a": "b"}, labels={"c": "d"}), "spec": spec}
    (fact,) = World().see(Kind.CLASSES, shown).facts()
    assert isinstance(fact, ClassObserved)
    assert fact.device_class.metadata.annotations is None
    assert fact.device_class.metadata.resource_version == ""


def test_a_class_that_only_got_a_label_is_not_told_again() -> None:
    world = World().see(Kind.CLASSES, {"metadata": meta("gpu"), "spec": {}})
    world.facts()
    world.see(Kind.CLASSES, {"metadata": meta("gpu", 2, labels={"a": "b"}), "spec": {}})
    assert world.facts() == []


def test_a_class_of_the_same_name_is_told_again_after_its_removal() -> None:
    world = World().see(Kind.CLASSES, {"metadata": meta("gpu"), "spec": {}})
    world.facts()
    assert world.miss(Kind.CLASSES, "gpu", "").facts() == [ClassRemoved(name="gpu")]
    world.see(Kind.CLASSES, {"metadata": meta("gpu", 9), "spec": {}})
    assert [type(fact) for fact in world.facts()] == [ClassObserved]
    identities = [record.envelope.id for record in world.records]
    assert len(set(identities)) == len(identities)


def test_a_taint_rule_is_told_and_its_end_too() -> None:
    spec = {"deviceSelector": {"driver": "d"}, "taint": {"key": "k", "effect": "NoExecute"}}
    world = World().see(Kind.TAINT_RULES, {"metadata": meta("rule"), "spec": spec})
    assert [type(fact) for fact in world.facts()] == [TaintRuleObserved]
    assert world.miss(Kind.TAINT_RULES, "rule", "").facts() == [TaintRuleRemoved(name="rule")]


def test_a_nodes_room_is_what_other_peoples_pods_leave() -> None:
    world = World().see(Kind.NODES, a_node()).see(Kind.PODS, a_running_pod("other"))
    node = only_node(world)
    assert (node.cpu_milli, node.memory_bytes, node.pods) == (3000, 7 * 2**30, 9)


def test_a_node_may_take_a_thousand_pods_written_as_a_quantity() -> None:
    assert only_node(World().see(Kind.NODES, a_node(pods="1k"))).pods == 1000


def test_a_pod_that_finished_gives_its_room_back() -> None:
    world = World().see(Kind.NODES, a_node()).see(Kind.PODS, a_running_pod("other"))
    only_node(world)
    world.see(Kind.PODS, a_running_pod("other", version=2, phase="Succeeded"))
    assert only_node(world).cpu_milli == 4000


def a_world_with_a_decided_pod(node: str) -> World:
    world = World().see(Kind.NODES, a_node()).see(Kind.CLAIMS, a_claim()).see(Kind.PODS, a_pod())
    world.facts()
    return world.told(allocated(node=node))


def test_a_pod_that_the_allocator_placed_there_takes_no_room() -> None:
    world = a_world_with_a_decided_pod("n1")
    world.see(Kind.PODS, a_pod(version=2, schedulingGates=[], nodeName="n1"))
    assert not [fact for fact in world.facts() if isinstance(fact, NodeObserved)]


def test_a_pod_that_runs_elsewhere_than_placed_takes_room_there() -> None:
    world = a_world_with_a_decided_pod("n2")
    world.see(Kind.PODS, a_pod(version=2, schedulingGates=[], nodeName="n1"))
    assert only_node(world).cpu_milli == 3900


def test_a_node_is_told_again_only_when_something_counts() -> None:
    world = World().see(Kind.NODES, a_node())
    only_node(world)
    assert world.see(Kind.NODES, a_node(version=2)).facts() == []
    tainted = a_node(version=3)
    tainted["spec"] = {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True}
    node = only_node(world.see(Kind.NODES, tainted))
    assert (node.unschedulable, node.taints[0].key) == (True, "k")
    assert world.miss(Kind.NODES, "n1", "").facts() == [NodeRemoved(name="n1", uid="n1-uid")]


def test_slices_of_one_pool_are_told_together_by_name() -> None:
    pool = {"name": "p", "generation": 3, "resourceSliceCount": 2}
    world = World()
    for name in ("s2", "s1"):
        spec = {"driver": "foreign", "pool": pool, "nodeName": "n1", "devices": [{"name": name}]}
        world.see(Kind.SLICES, {"metadata": meta(name), "spec": spec})
    (fact,) = world.facts()
    assert isinstance(fact, ForeignSlicesObserved)
    assert [item.metadata.name for item in fact.slices] == ["s1", "s2"]


def test_features_are_told_once_and_again_when_the_server_changes() -> None:
    world = World()
    world.look([FEATURES])
    assert [type(fact) for fact in world.facts()] == [FeaturesObserved]
    assert world.facts() == []
    world.mirror.features = FeaturesObserved(server_version="v1.38.0", features=())
    world.look([FEATURES])
    assert len(world.facts()) == 1


@pytest.mark.parametrize(
    ("minor", "has", "lacks"),
    [
        ("34", {"AdminAccess", "PrioritizedList"}, {"PartitionableDevices", "DeviceTaints"}),
        ("36+", {"PartitionableDevices", "ConsumableCapacity"}, {"FractionalCapacityRange"}),
        ("37", {"FractionalCapacityRange"}, {"ListTypeAttributes"}),
    ],
)
def test_features_are_those_on_by_default(minor: str, has: set[str], lacks: set[str]) -> None:
    found = set(features("1", minor, {}, ()))
    assert has <= found
    assert not lacks & found


def test_what_a_probe_shows_goes_before_the_releases_defaults() -> None:
    found = features("1", "37", {"DeviceTaints": False, "ListTypeAttributes": True}, ())
    assert "DeviceTaints" not in found
    assert "ListTypeAttributes" in found


def test_features_can_be_switched_on_and_off() -> None:
    found = features("1", "37", {}, ("ListTypeAttributes", "-DeviceTaints"))
    assert "ListTypeAttributes" in found
    assert "DeviceTaints" not in found


def test_a_feature_that_nobody_knows_is_refused_by_name() -> None:
    with pytest.raises(UnknownFeatureError, match="Teleportation"):
        check(("-Teleportation",))
