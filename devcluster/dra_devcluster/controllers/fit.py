"""Whether a pod fits a node beside the pods that are there. Pure, and deaf to devices.

Counts CPU, memory and the number of pods; other resources are not looked at.
"""

from collections.abc import Iterable, Mapping

import msgspec

from dra_devcluster.api.resources import Object
from dra_shared.quantity import parse_quantity


class Amounts(msgspec.Struct, frozen=True):
    """CPU in thousandths, memory in bytes, and pods."""

    cpu: int = 0
    memory: int = 0
    pods: int = 0

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(self.cpu + other.cpu, self.memory + other.memory, self.pods + other.pods)


def requested(pod: Object) -> Amounts:
    """What the pod asks for: its containers together, or its largest init container."""
    spec = pod["spec"]
    running = [_of_container(container) for container in spec.get("containers", [])]
    starting = [_of_container(container) for container in spec.get("initContainers", [])]
    cpu = max([sum(one.cpu for one in running), *(one.cpu for one in starting)])
    memory = max([sum(one.memory for one in running), *(one.memory for one in starting)])
    return Amounts(cpu, memory, 1)


def _of_container(container: Object) -> Amounts:
    return _amounts(container.get("resources", {}).get("requests", {}), absent="0")


def _amounts(resources: Mapping[str, str], absent: str) -> Amounts:
    return Amounts(
        parse_quantity(resources.get("cpu", absent)).millis,
        parse_quantity(resources.get("memory", absent)).whole,
        parse_quantity(resources.get("pods", absent)).whole,
    )


def allocatable(node: Object) -> Amounts:
    """What the node offers; what it does not mention it has none of."""
    return _amounts(node.get("status", {}).get("allocatable", {}), absent="0")


def shortages(pod: Amounts, node: Amounts, used: Iterable[Amounts]) -> list[str]:
    """What the node has too little of, in the scheduler's words; empty if the pod fits."""
    total = sum(used, start=pod)
    words = {
        "Too many pods": total.pods > node.pods,
        "Insufficient cpu": bool(pod.cpu) and total.cpu > node.cpu,
        "Insufficient memory": bool(pod.memory) and total.memory > node.memory,
    }
    return [word for word, short in words.items() if short]
