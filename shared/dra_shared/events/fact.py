"""The base of all facts, and what several of them mention. No fact of its own."""

from typing import Final

import msgspec

from dra_shared.kube.core import Toleration
from dra_shared.kube.meta import NodeSelector


class Fact(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="tag", omit_defaults=True, gc=False
):
    """Something that happened. Subclasses set `tag`, their name on the wire."""


MOST_BYTES: Final = 900_000
"""Of one fact as JSON; what is left of NATS' 1 MB (max_payload) is for its envelope and headers."""


def size_of(fact: Fact) -> int:
    """Bytes of the fact as JSON."""
    return len(msgspec.json.encode(fact))


class Placement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a pod needs of a node besides devices; CPU in milli-cores, memory in bytes."""

    node_selector: dict[str, str] | None = None
    required_affinity: NodeSelector | None = None
    tolerations: tuple[Toleration, ...] = ()
    cpu_milli: int = 0
    memory_bytes: int = 0
