"""Equal parts of facts, kept once: most claims of a cluster ask for the same, in many copies.

Facts come out of the log one by one, each with its own copy of everything. What is put in place of
a copy equals it, so nobody can tell but by the memory.
"""

from typing import Final

import msgspec

from dra_shared.events.claims import ClaimRequested
from dra_shared.kube.claims import AllocationResult, ResourceClaimSpec
from dra_shared.kube.meta import NodeSelector

MOST_SPECS: Final = 4096
"""Specs remembered; beyond that the oldest is forgotten, and the next like it is another copy."""

_ENCODER: Final = msgspec.json.Encoder()


class Specs:
    """What claims ask for, each kept once."""

    def __init__(self) -> None:
        self._known: dict[bytes, ResourceClaimSpec] = {}

    def share(self, fact: ClaimRequested) -> None:
        """Puts the spec that is known already in place of the fact's own."""
        key = _ENCODER.encode(fact.spec)
        known = self._known.get(key)
        if known is not None:
            msgspec.structs.force_setattr(fact, "spec", known)
            return
        if len(self._known) >= MOST_SPECS:
            del self._known[next(iter(self._known))]
        self._known[key] = fact.spec


def share_node(allocation: AllocationResult, shared: NodeSelector) -> None:
    """Puts the one selector of a node in place of the allocation's own, if they are equal."""
    selector = allocation.node_selector
    if selector is not shared and selector == shared:
        msgspec.structs.force_setattr(allocation, "node_selector", shared)
