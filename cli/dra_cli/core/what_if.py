"""Hypothetical objects put on the ground of a log, ready to be decided on. Nothing of it goes back."""

from collections.abc import Iterable, Iterator

import msgspec

from dra_allocator.core.fold.registers import Registers
from dra_allocator.core.search.features import DEFAULT_FEATURES
from dra_api_bridge.core.objects import KubeObject
from dra_api_bridge.core.observed import is_finished, is_gated
from dra_api_bridge.core.placement import requested
from dra_cli.core.completion import There
from dra_cli.core.ground import Ground
from dra_cli.core.rehearsal import Rehearsal
from dra_shared.events.claims import PodWithdrawn
from dra_shared.events.cluster import FeaturesObserved, NodeObserved
from dra_shared.ids import ObjectRef
from dra_shared.kube.core import Pod


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How it is decided. `features`: None for those of the log; `alone`: no pod of the log asks."""

    policy: str
    features: FeaturesObserved | None
    alone: bool


def what_if(
    ground: Ground, there: There, objects: tuple[KubeObject, ...], terms: Terms
) -> Rehearsal:
    """The allocator of the log with the objects on top; it has not decided yet."""
    rehearsal = Rehearsal(terms.features, terms.policy, ground.state)
    registers = ground.state.registers
    if terms.alone:
        rehearsal.learn(*[PodWithdrawn(pod=pod) for pod in _waiting(registers)])
    rehearsal.learn(*_crowded(registers, objects))
    rehearsal.remind(*there.claims)
    rehearsal.show(*objects)
    return rehearsal


def features_of(ground: Ground) -> FeaturesObserved:
    """What the API server of the log accepts; Kubernetes' defaults if nobody said."""
    defaults = tuple(sorted(feature.value for feature in DEFAULT_FEATURES))
    known = ground.state.registers.features.get("")
    return known or FeaturesObserved(server_version="unknown", features=defaults)


def _waiting(registers: Registers) -> list[ObjectRef]:
    return [
        pod.request.pod
        for uid, pod in sorted(registers.pods.items())
        if uid not in registers.placed
    ]


def _crowded(registers: Registers, objects: Iterable[KubeObject]) -> Iterator[NodeObserved]:
    """Nodes of the log with what is left beside the pods that run there in the manifests."""
    left: dict[str, NodeObserved] = {}
    for pod in objects:
        if not isinstance(pod, Pod) or is_finished(pod) or is_gated(pod):
            continue
        name = pod.spec.node_name or ""
        node = left.get(name) or registers.nodes.get(name)
        if node is not None:
            cpu, memory = requested(pod.spec)
            left[name] = msgspec.structs.replace(
                node,
                cpu_milli=node.cpu_milli - cpu,
                memory_bytes=node.memory_bytes - memory,
                pods=node.pods - 1,
            )
    yield from left.values()
