"""Which nodes are to be called lost or returned, given who was heard when. Seconds, any clock."""

from collections.abc import Iterable, Mapping

import msgspec

from dra_inventory.core.nodes import Node
from dra_shared.events.pools import NodeLost, NodeReturned


class Ears(msgspec.Struct):
    """When each node was last heard, and since when we have listened without a gap."""

    listening_since: float
    heard: dict[str, float] = msgspec.field(default_factory=dict)
    last_listen: float = 0.0

    def listen(self, alive: Iterable[str], now: float, longest_gap: float) -> None:
        """Takes in who is alive now; after a gap in listening, everybody gets a new chance."""
        if now - self.last_listen > longest_gap:
            self.listening_since = now
        self.last_listen = now
        self.heard.update(dict.fromkeys(alive, now))

    def silence(self, node: str, now: float) -> float:
        """For how long the node has not been heard, as far as we can know."""
        return now - max(self.heard.get(node, 0.0), self.listening_since)


def changes(
    nodes: Mapping[str, Node], ears: Ears, now: float, patience: float
) -> tuple[NodeLost | NodeReturned, ...]:
    """The nodes that became lost or came back."""
    found: list[NodeLost | NodeReturned] = []
    for name in sorted(nodes):
        heard_now = ears.heard.get(name) == now
        silence = ears.silence(name, now)
        if nodes[name].lost and heard_now:
            found.append(NodeReturned(node=name))
        elif not nodes[name].lost and silence > patience:
            found.append(NodeLost(node=name, silent_for=round(silence, 1)))
    return tuple(found)
