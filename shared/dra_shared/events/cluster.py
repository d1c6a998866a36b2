"""Facts of the API bridge about the cluster: classes, taint rules, nodes, other drivers' slices."""

from dra_shared.events.fact import Fact
from dra_shared.kube.claims import DeviceClass, DeviceTaintRule
from dra_shared.kube.core import Taint
from dra_shared.kube.devices import ResourceSlice


class ClassObserved(Fact, frozen=True, kw_only=True, tag="class.observed.v1"):
    """A DeviceClass as it is now."""

    device_class: DeviceClass


class ClassRemoved(Fact, frozen=True, kw_only=True, tag="class.removed.v1"):
    """A DeviceClass is gone."""

    name: str


class TaintRuleObserved(Fact, frozen=True, kw_only=True, tag="taint_rule.observed.v1"):
    """A DeviceTaintRule as it is now."""

    rule: DeviceTaintRule


class TaintRuleRemoved(Fact, frozen=True, kw_only=True, tag="taint_rule.removed.v1"):
    """A DeviceTaintRule is gone."""

    name: str


class NodeObserved(Fact, frozen=True, kw_only=True, tag="node.observed.v1"):
    """A Node as far as placing pods needs it.

    `cpu_milli`, `memory_bytes` and `pods` are what is left for pods that use claims of ours:
    allocatable less what all other pods on the node request. What our own pods take, the
    allocator knows from its decisions.
    """

    name: str
    uid: str
    labels: dict[str, str]
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    cpu_milli: int = 0
    memory_bytes: int = 0
    pods: int = 0
    declared_features: tuple[str, ...] | None = None


class NodeRemoved(Fact, frozen=True, kw_only=True, tag="node.removed.v1"):
    """A Node is gone."""

    name: str
    uid: str


class ForeignSlicesObserved(Fact, frozen=True, kw_only=True, tag="foreign_slices.observed.v1"):
    """All slices of one pool of a driver that is not ours, as they are now."""

    driver: str
    pool: str
    slices: tuple[ResourceSlice, ...]


class ForeignSlicesChanged(Fact, frozen=True, kw_only=True, tag="foreign_slices.changed.v1"):
    """Slices of such a pool that are new or different, and the names of those that went.

    Tells a pool bit by bit that is too large for one event.
    """

    driver: str
    pool: str
    slices: tuple[ResourceSlice, ...] = ()
    removed: tuple[str, ...] = ()

    def onto(self, before: ForeignSlicesObserved | None) -> ForeignSlicesObserved:
        """The pool as it is with this change, its slices by name."""
        known = {item.metadata.name: item for item in (before.slices if before else ())}
        known |= {item.metadata.name: item for item in self.slices}
        for name in self.removed:
            known.pop(name, None)
        slices = tuple(item for _, item in sorted(known.items()))
        return ForeignSlicesObserved(driver=self.driver, pool=self.pool, slices=slices)


class ForeignSlicesRemoved(Fact, frozen=True, kw_only=True, tag="foreign_slices.removed.v1"):
    """No slice of that pool is left."""

    driver: str
    pool: str


class FeaturesObserved(Fact, frozen=True, kw_only=True, tag="features.observed.v1"):
    """Which DRA features the API server accepts; decisions use no others."""

    server_version: str
    features: tuple[str, ...]


ClusterFact = (
    ClassObserved
    | ClassRemoved
    | TaintRuleObserved
    | TaintRuleRemoved
    | NodeObserved
    | NodeRemoved
    | ForeignSlicesObserved
    | ForeignSlicesChanged
    | ForeignSlicesRemoved
    | FeaturesObserved
)
