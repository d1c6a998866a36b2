"""Which records a person asked to see: of one claim, of one node, with certain tags."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from dra_cli.core.sentences import tag_of
from dra_shared.events.allocations import AllocatedClaim
from dra_shared.events.claims import PodRequested
from dra_shared.events.cluster import NodeObserved, NodeRemoved
from dra_shared.events.fact import Fact
from dra_shared.ids import ObjectRef
from dra_shared.log.protocol import Record


class Filter:
    """Takes records in log order; remembers which pods use the claim, to show their facts too.

    `claim` is `namespace/name` or a uid; tags may have `*` in them. What is not given takes all.
    """

    def __init__(self, *, claim: str = "", node: str = "", tags: tuple[str, ...] = ()) -> None:
        self._claim = claim
        self._node = node
        self._tags = tags
        self._pods: set[str] = set()
        self.claims: set[str] = set()
        """All claims that were mentioned, for the one who misspelt his."""
        self.found = 0
        """Records that were taken."""

    def takes(self, record: Record) -> bool:
        """Whether the record is wanted."""
        fact = record.envelope.fact
        taken = self._takes_claim(fact) and self._takes_node(fact) and self._takes_tag(fact)
        self.found += taken
        return taken

    def _takes_claim(self, fact: Fact) -> bool:
        if not self._claim:
            return True
        claims = list(claims_of(fact))
        self.claims.update(map(str, claims))
        mentioned = any(self._claim in (str(claim), claim.uid) for claim in claims)
        if mentioned and isinstance(fact, PodRequested):
            self._pods.add(fact.pod.uid)
        pod: ObjectRef | None = getattr(fact, "pod", None)
        uses = isinstance(pod, ObjectRef) and pod.uid in self._pods and not claims
        return mentioned or uses

    def _takes_node(self, fact: Fact) -> bool:
        return not self._node or node_of(fact) == self._node

    def _takes_tag(self, fact: Fact) -> bool:
        return not self._tags or any(fnmatchcase(tag_of(fact), tag) for tag in self._tags)


def claims_of(fact: Fact) -> Iterator[ObjectRef]:
    """The claims that a fact is about."""
    mentioned: list[Any] = [getattr(fact, "claim", None)]
    mentioned += [*getattr(fact, "claims", ()), *getattr(fact, "shared", ())]
    for claim in mentioned:
        if isinstance(claim, AllocatedClaim):
            yield claim.claim
        elif isinstance(claim, ObjectRef):
            yield claim


def node_of(fact: Fact) -> str | None:
    """The node that a fact is about."""
    if isinstance(fact, NodeObserved | NodeRemoved):
        return fact.name
    node: str | None = getattr(fact, "node", None)
    return node
