"""Which facts about classes, taint rules, nodes and features the log still lacks."""

from dra_api_bridge.core.foreign import foreign_fact
from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import Topic, Work
from dra_api_bridge.core.placement import offered, pod_slots
from dra_shared.events.cluster import (
    ClassObserved,
    ClassRemoved,
    ClusterFact,
    NodeObserved,
    NodeRemoved,
    TaintRuleObserved,
    TaintRuleRemoved,
)
from dra_shared.kube.claims import DeviceClass, DeviceTaintRule
from dra_shared.kube.core import Node
from dra_shared.kube.meta import ObjectMeta


def cluster_fact(mirror: Mirror, work: Work) -> ClusterFact | None:
    """What the log has to learn about this part of the cluster, None if it is as the log says."""
    if work.topic is Topic.POOL:
        return foreign_fact(mirror, work)
    now, recorded = _observed(mirror, work), mirror.recorded.cluster.get(work)
    if now == recorded:
        return None
    return now if now is not None else _removed(mirror, work)


def _observed(mirror: Mirror, work: Work) -> ClusterFact | None:
    seen = mirror.observed
    match work.topic:
        case Topic.CLASS:
            known = seen.device_class(work.name)
            return _class(known) if known is not None else None
        case Topic.TAINT_RULE:
            rule = seen.taint_rule(work.name)
            return _rule(rule) if rule is not None else None
        case Topic.NODE:
            node = seen.node(work.name)
            return _node(mirror, node) if node is not None else None
        case Topic.FEATURES:
            return mirror.features
        case _:
            return None


def _removed(mirror: Mirror, work: Work) -> ClusterFact | None:
    match work.topic:
        case Topic.CLASS:
            return ClassRemoved(name=work.name)
        case Topic.TAINT_RULE:
            return TaintRuleRemoved(name=work.name)
        case Topic.NODE:
            last = mirror.recorded.cluster.get(work)
            uid = last.uid if isinstance(last, NodeObserved) else ""
            return NodeRemoved(name=work.name, uid=uid)
        case _:
            return None


def _class(known: DeviceClass) -> ClassObserved:
    bare = DeviceClass(metadata=ObjectMeta(name=known.metadata.name), spec=known.spec)
    return ClassObserved(device_class=bare)


def _rule(rule: DeviceTaintRule) -> TaintRuleObserved:
    bare = DeviceTaintRule(metadata=ObjectMeta(name=rule.metadata.name), spec=rule.spec)
    return TaintRuleObserved(rule=bare)


def _node(mirror: Mirror, node: Node) -> NodeObserved:
    """The node with what its pods leave over, those not counted that the allocator put there."""
    name, allocatable = node.metadata.name, node.status.allocatable or {}
    others = [
        amounts
        for uid, amounts in mirror.observed.usage(name).items()
        if not _is_placed(mirror, uid, name)
    ]
    cpu, memory = offered(allocatable)
    return NodeObserved(
        name=name,
        uid=node.metadata.uid,
        labels=node.metadata.labels or {},
        taints=node.spec.taints or (),
        unschedulable=node.spec.unschedulable,
        cpu_milli=cpu - sum(amounts[0] for amounts in others),
        memory_bytes=memory - sum(amounts[1] for amounts in others),
        pods=pod_slots(allocatable) - len(others),
        declared_features=node.status.declared_features,
    )


def _is_placed(mirror: Mirror, pod: str, node: str) -> bool:
    record = mirror.recorded.pods.get(pod)
    return record is not None and record.decision is not None and record.decision.node == node
