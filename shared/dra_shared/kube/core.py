"""Nodes and pods, as far as placing a pod needs them (core/v1)."""

from dra_shared.kube.meta import KubeStruct, Labels, NodeSelector, ObjectMeta


class Taint(KubeStruct, frozen=True, kw_only=True):
    """Keeps pods away from a node. Effects: NoSchedule, PreferNoSchedule, NoExecute."""

    key: str
    value: str = ""
    effect: str


class Toleration(KubeStruct, frozen=True, kw_only=True):
    """Lets a pod onto tainted nodes. An empty key or effect matches all."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class NodeSpec(KubeStruct, frozen=True, kw_only=True):
    """What the cluster's people want of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class NodeStatus(KubeStruct, frozen=True, kw_only=True):
    """What a node offers; quantities as Kubernetes writes them."""

    allocatable: dict[str, str] | None = None
    capacity: dict[str, str] | None = None
    declared_features: tuple[str, ...] | None = None


class Node(KubeStruct, frozen=True, kw_only=True):
    """A machine of the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ContainerClaim(KubeStruct, frozen=True, kw_only=True):
    """A container's use of one of the pod's claims, or of one request of it."""

    name: str
    request: str = ""


class ResourceRequirements(KubeStruct, frozen=True, kw_only=True):
    """A container's needs."""

    requests: dict[str, str] | None = None
    limits: dict[str, str] | None = None
    claims: tuple[ContainerClaim, ...] | None = None


class Container(KubeStruct, frozen=True, kw_only=True):
    """One container. `restart_policy` Always marks a sidecar among the init containers."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None


class PodResourceClaim(KubeStruct, frozen=True, kw_only=True):
    """How a pod refers to a claim: by its name, or by the template it is made from."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class NodeAffinity(KubeStruct, frozen=True, kw_only=True):
    """Which nodes a pod must or would like to run on; preferences are not read."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class Affinity(KubeStruct, frozen=True, kw_only=True):
    """A pod's affinities; only the one to nodes is read."""

    node_affinity: NodeAffinity | None = None


class PodSchedulingGate(KubeStruct, frozen=True, kw_only=True):
    """A name that keeps the scheduler from looking at the pod."""

    name: str


class PodSpec(KubeStruct, frozen=True, kw_only=True):
    """What a pod wants."""

    node_name: str | None = None
    node_selector: Labels | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    overhead: dict[str, str] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] | None = None
    priority: int | None = None
    resources: ResourceRequirements | None = None
    """Of the pod as a whole; where given, they replace the sum over its containers."""


class PodCondition(KubeStruct, frozen=True, kw_only=True):
    """One observation about a pod."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class PodResourceClaimStatus(KubeStruct, frozen=True, kw_only=True):
    """The claim that was made for one of the pod's claim references."""

    name: str
    resource_claim_name: str | None = None


class PodStatus(KubeStruct, frozen=True, kw_only=True):
    """What became of a pod. Phases: Pending, Running, Succeeded, Failed, Unknown."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None


class Pod(KubeStruct, frozen=True, kw_only=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
