"""Facts of the inventory: which pools there are, and which nodes are silent."""

from enum import StrEnum

from dra_shared.events.fact import Fact
from dra_shared.kube.devices import ResourceSliceSpec


class PoolPublished(Fact, frozen=True, kw_only=True, tag="pool.published.v1"):
    """One edition of a pool: all of its slices, already split to the API's limits.

    The generation grows by one with each edition and stands in every slice.
    """

    driver: str
    pool: str
    node: str | None
    generation: int
    slices: tuple[ResourceSliceSpec, ...]


class WithdrawalReason(StrEnum):
    """Why a pool is not offered."""

    NODE_LOST = "node_lost"
    DRIVER_GONE = "driver_gone"
    TOO_LARGE = "too_large"


class PoolWithdrawn(Fact, frozen=True, kw_only=True, tag="pool.withdrawn.v1"):
    """A pool is no longer offered; what is allocated from it stays allocated.

    Too large: its edition fits into no event, and the one before may offer what is gone or broken;
    it may also never have been offered. `size` is the bytes that the edition would have.
    """

    driver: str
    pool: str
    node: str | None
    reason: WithdrawalReason
    size: int = 0


class NodeLost(Fact, frozen=True, kw_only=True, tag="node.lost.v1"):
    """A node's agent has been silent for longer than its time to live (in seconds)."""

    node: str
    silent_for: float


class NodeReturned(Fact, frozen=True, kw_only=True, tag="node.returned.v1"):
    """A lost node's agent is heard again."""

    node: str


PoolFact = PoolPublished | PoolWithdrawn | NodeLost | NodeReturned
