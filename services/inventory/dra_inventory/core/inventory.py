"""The state of the inventory, kept up to date fact by fact, and what it decides.

Only `apply` changes it. `decide` compares the pools that should be with those that are.
"""

import hashlib
from datetime import UTC, datetime

import msgspec

from dra_inventory.core.nodes import Node, NodeFact, evolve
from dra_inventory.core.slices import slices
from dra_shared.events.fact import MOST_BYTES, size_of
from dra_shared.events.pools import PoolPublished, PoolWithdrawn, WithdrawalReason
from dra_shared.log.protocol import Record

PoolKey = tuple[str, str]
"""Driver and pool name."""


class Inventory:
    """All nodes and pools that the log has told of so far."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pools: dict[PoolKey, PoolPublished | PoolWithdrawn] = {}
        self.generations: dict[PoolKey, int] = {}
        self.applied = 0

    def apply(self, record: Record) -> str | None:
        """Takes in one fact, in log order; returns the node whose pools may have to change."""
        self.applied = record.sequence
        fact = record.envelope.fact
        match fact:
            case PoolPublished() | PoolWithdrawn():
                key = (fact.driver, fact.pool)
                self.pools[key] = fact
                if isinstance(fact, PoolPublished):
                    self.generations[key] = fact.generation
                return fact.node
            case _ if isinstance(fact, NodeFact):
                node = self.nodes.get(fact.node) or Node(name=fact.node)
                self.nodes[fact.node] = evolve(node, fact, rfc3339(record.time_ns))
                return fact.node
            case _:
                return None

    def decide(self, name: str) -> tuple[PoolPublished | PoolWithdrawn, ...]:
        """What must be published or withdrawn so that the node's pools are as they should be."""
        node = self.nodes.get(name)
        if node is None:
            return ()
        decided = (self._decide_pool(node, driver) for driver in sorted(node.reports))
        return tuple(fact for fact in decided if fact is not None)

    def state_hash(self) -> str:
        """A digest of all that was applied; equal for equal histories, on any machine."""
        state = (self.nodes, sorted(self.pools.items()), sorted(self.generations.items()))
        encoded = msgspec.json.encode(msgspec.to_builtins(state), order="deterministic")
        return hashlib.blake2b(encoded, digest_size=16).hexdigest()

    def _decide_pool(self, node: Node, driver: str) -> PoolPublished | PoolWithdrawn | None:
        key = (driver, node.name)
        now = self.pools.get(key)
        if node.lost or driver not in node.drivers:
            reason = WithdrawalReason.NODE_LOST if node.lost else WithdrawalReason.DRIVER_GONE
            return None if _is_closed(now) else _withdrawn(node, driver, reason)
        generation = self.generations.get(key, 0)
        if isinstance(now, PoolPublished) and now.slices == slices(node, driver, generation):
            return None
        edition = _edition(node, driver, generation + 1)
        size = size_of(edition)
        if size <= MOST_BYTES:
            return edition
        refusal = _withdrawn(node, driver, WithdrawalReason.TOO_LARGE, size)
        return None if refusal == now else refusal


def _edition(node: Node, driver: str, generation: int) -> PoolPublished:
    return PoolPublished(
        driver=driver,
        pool=node.name,
        node=node.name,
        generation=generation,
        slices=slices(node, driver, generation),
    )


def _withdrawn(node: Node, driver: str, reason: WithdrawalReason, size: int = 0) -> PoolWithdrawn:
    return PoolWithdrawn(driver=driver, pool=node.name, node=node.name, reason=reason, size=size)


def _is_closed(pool: PoolPublished | PoolWithdrawn | None) -> bool:
    """Whether nothing is offered that could be withdrawn, and no refusal stands that is over."""
    if isinstance(pool, PoolWithdrawn):
        return pool.reason is not WithdrawalReason.TOO_LARGE
    return pool is None


def rfc3339(time_ns: int) -> str:
    """The server's time as Kubernetes writes it, in whole seconds."""
    moment = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
