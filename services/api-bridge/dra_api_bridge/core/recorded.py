"""What the log says so far, as far as the bridge needs it: records, and how to look them up.

`folding.fold` alone changes it, fact by fact, and folds the bridge's own facts too only when they
are read back: so the state is a function of the log, and a restart ends in the same state.
"""

from collections import defaultdict

import msgspec

from dra_api_bridge.core.objects import Topic, Work
from dra_shared.events import claims, pools
from dra_shared.events.envelope import AnyFact
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import AllocationResult


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What the allocator gave a claim, where, by which fact, and whether the API showed it yet."""

    allocation: AllocationResult
    node: str
    sequence: int
    written: bool = False


class ClaimRecord(msgspec.Struct, kw_only=True):
    """One claim: what was said about it, what it was given, who uses that."""

    requested: claims.ClaimRequested
    last: int
    grant: Grant | None = None
    foreign: AllocationResult | None = None
    consumers: dict[str, ObjectRef] = msgspec.field(default_factory=dict)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pod goes and which claims it uses there."""

    node: str
    claims: tuple[str, ...]
    shared: tuple[str, ...]
    sequence: int


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pod waits, as people should read it; said by the fact at `sequence`, 0 if by none."""

    message: str
    sequence: int
    time_ns: int


class PodRecord(msgspec.Struct, kw_only=True):
    """One pod: what it needs, what was decided, whether it was let go.

    `noted`: it was told why the decision cannot be carried out; `refused`: the server said no.
    """

    requested: claims.PodRequested
    last: int
    decision: Decision | None = None
    ungated: bool = False
    noted: bool = False
    refused: bool = False
    trouble: Trouble | None = None


class PoolRecord(msgspec.Struct, kw_only=True):
    """One pool of ours: its edition, None when withdrawn.

    `noted`: the server did not take it as it is; `refused`: it took nothing.
    """

    published: pools.PoolPublished | None
    sequence: int
    noted: bool = False
    refused: bool = False


class Recorded:
    """The log folded: claims and pods by uid, pools by driver and name, the cluster by topic.

    `newest` is the sequence of the bridge's newest fact about a topic of the cluster, `drivers`
    are those whose pools the inventory ever published, `pools_of` the pools of each node.
    """

    def __init__(self) -> None:
        self.applied = 0
        self.time_ns = 0
        self.claims: dict[str, ClaimRecord] = {}
        self.pods: dict[str, PodRecord] = {}
        self.pools: dict[tuple[str, str], PoolRecord] = {}
        self.cluster: dict[Work, AnyFact] = {}
        self.newest: dict[Work, int] = {}
        self.drivers: set[str] = set()
        self.pools_of: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)

    def last(self, work: Work) -> int:
        """The sequence of the bridge's newest fact about it, 0 if there is none."""
        match work.topic:
            case Topic.CLAIM:
                claim = self.claims.get(work.name)
                return claim.last if claim is not None else 0
            case Topic.POD:
                pod = self.pods.get(work.name)
                return pod.last if pod is not None else 0
            case _:
                return self.newest.get(work, 0)

    def everything(self) -> frozenset[Work]:
        """All that the log speaks of."""
        return frozenset(
            {
                *(Work(Topic.CLAIM, uid) for uid in self.claims),
                *(Work(Topic.POD, uid) for uid in self.pods),
                *(Work(Topic.POOL, *key) for key in self.pools),
                *self.cluster,
            }
        )
