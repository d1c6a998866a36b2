"""Whether a pod can still run where it was placed, by the API's freshest word. Chooses no node."""

from dra_api_bridge.core.observed import Observed
from dra_api_bridge.core.placement import offered, pod_slots, requested
from dra_shared.kube.core import Pod


def unschedulable(pod: Pod) -> str | None:
    """What kube-scheduler said when it found no node for the pod; None if it said no such thing."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.message if condition.reason == "Unschedulable" else None
    return None


def shortage(observed: Observed, pod: Pod, name: str) -> str | None:
    """What the node lacks for the pod beside all pods that run there; None if nothing."""
    node = observed.node(name)
    if node is None:
        return f"node {name} is gone"
    allocatable = node.status.allocatable or {}
    others = [amounts for uid, amounts in observed.usage(name).items() if uid != pod.metadata.uid]
    cpu, memory = offered(allocatable)
    cpu -= sum(amounts[0] for amounts in others)
    memory -= sum(amounts[1] for amounts in others)
    wanted_cpu, wanted_memory = requested(pod.spec)
    if wanted_cpu > cpu:
        return f"node {name} has {max(cpu, 0)}m of CPU left, the pod requests {wanted_cpu}m"
    if wanted_memory > memory:
        return (
            f"node {name} has {max(memory, 0)} bytes of memory left, "
            f"the pod requests {wanted_memory}"
        )
    if pod_slots(allocatable) <= len(others):
        return f"node {name} runs as many pods as it may"
    return None
