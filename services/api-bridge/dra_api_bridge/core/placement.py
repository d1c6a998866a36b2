"""What a pod needs of a node besides devices, as kube-scheduler would sum it. No node is chosen."""

from collections.abc import Iterable, Mapping
from typing import Final

from dra_shared.events.fact import Placement
from dra_shared.kube.core import Container, PodSpec
from dra_shared.kube.meta import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_shared.quantity import parse_quantity

CPU: Final = "cpu"
MEMORY: Final = "memory"

Amounts = tuple[int, int]
"""CPU in milli-cores, memory in bytes; both rounded up."""

ZERO: Final[Amounts] = (0, 0)


def placement(spec: PodSpec) -> Placement:
    """The pod's needs as they stand in the log.

    A pod that has its node already needs that very node, and no room on it any more.
    """
    tolerations = spec.tolerations or ()
    if spec.node_name:
        name = NodeSelectorRequirement(key="metadata.name", operator="In", values=(spec.node_name,))
        only = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(name,)),))
        return Placement(required_affinity=only, tolerations=tolerations)
    cpu, memory = requested(spec)
    return Placement(
        node_selector=spec.node_selector or None,
        required_affinity=required_affinity(spec),
        tolerations=tolerations,
        cpu_milli=cpu,
        memory_bytes=memory,
    )


def required_affinity(spec: PodSpec) -> NodeSelector | None:
    """The nodes the pod insists on, if it does."""
    if spec.affinity is None or spec.affinity.node_affinity is None:
        return None
    return spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution


def requested(spec: PodSpec) -> Amounts:
    """CPU and memory that the scheduler sets aside for the pod.

    Containers and sidecars run together; an init container runs beside the sidecars that stand
    before it, so the larger of both phases counts; requests of the pod as a whole replace that
    sum; overhead comes on top (KEP-753, KEP-2837).
    """
    running = _sum(_amounts(_requests(container)) for container in spec.containers or ())
    sidecars, peak = ZERO, ZERO
    for container in spec.init_containers or ():
        own = _amounts(_requests(container))
        if container.restart_policy == "Always":
            sidecars = _add(sidecars, own)
            peak = _most(peak, sidecars)
        else:
            peak = _most(peak, _add(sidecars, own))
    total = _most(_add(running, sidecars), peak)
    whole = (spec.resources.requests if spec.resources else None) or {}
    return _add(_replaced(total, whole), _amounts(spec.overhead or {}))


def offered(allocatable: Mapping[str, str]) -> Amounts:
    """CPU and memory that a node has for pods, rounded down."""
    cpu = parse_quantity(allocatable.get(CPU, "0"))
    memory = parse_quantity(allocatable.get(MEMORY, "0"))
    return cpu.nanos // 10**6, memory.nanos // 10**9


def pod_slots(allocatable: Mapping[str, str]) -> int:
    """How many pods a node takes."""
    return parse_quantity(allocatable.get("pods", "0")).whole


def _requests(container: Container) -> Mapping[str, str]:
    return container.resources.requests or {}


def _amounts(requests: Mapping[str, str]) -> Amounts:
    cpu = parse_quantity(requests[CPU]).millis if CPU in requests else 0
    memory = parse_quantity(requests[MEMORY]).whole if MEMORY in requests else 0
    return cpu, memory


def _replaced(total: Amounts, whole: Mapping[str, str]) -> Amounts:
    cpu, memory = _amounts(whole)
    return (cpu if CPU in whole else total[0], memory if MEMORY in whole else total[1])


def _add(one: Amounts, other: Amounts) -> Amounts:
    return one[0] + other[0], one[1] + other[1]


def _most(one: Amounts, other: Amounts) -> Amounts:
    return max(one[0], other[0]), max(one[1], other[1])


def _sum(amounts: Iterable[Amounts]) -> Amounts:
    total = ZERO
    for each in amounts:
        total = _add(total, each)
    return total
