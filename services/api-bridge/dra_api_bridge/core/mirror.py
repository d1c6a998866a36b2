"""The two sides held together: what the API shows, what the log says, what is under way between.

`facts.py` and `writes.py` compare the sides; nothing is decided here.
"""

from collections.abc import Iterable
from typing import Final

from dra_api_bridge.core import folding
from dra_api_bridge.core.attempts import Attempts
from dra_api_bridge.core.objects import FEATURES, Kind, Topic, Work
from dra_api_bridge.core.observed import Change, Observed, is_finished
from dra_api_bridge.core.recorded import ClaimRecord, Grant, Recorded
from dra_shared.events.claims import ClaimWithdrawn, PodWithdrawn
from dra_shared.events.cluster import FeaturesObserved
from dra_shared.events.mirror import AllocationCleared
from dra_shared.kube.claims import AllocationResult, ResourceClaim
from dra_shared.kube.core import Pod
from dra_shared.log.protocol import Record


class Mirror:
    """All that the bridge knows. Each `take` returns what has to be looked at again.

    `features` is what the API server accepts, as was found out last.
    """

    def __init__(self, features: FeaturesObserved) -> None:
        self.features = features
        self.observed = Observed()
        self.recorded = Recorded()
        self.attempts = Attempts()
        self._seen: dict[Kind, int] = {}

    def take_change(self, change: Change) -> frozenset[Work]:
        """Takes in what a watch reported."""
        return self.widened(self.observed.apply(change))

    def take_record(self, record: Record) -> frozenset[Work]:
        """Takes in the next event of the log."""
        self.attempts.read_back(record.envelope.id)
        works = folding.fold(self.recorded, record)
        match record.envelope.fact:
            case AllocationCleared(claim=claim):
                self.attempts.cleared.pop(claim.uid, None)
            case ClaimWithdrawn(claim=claim):
                self.attempts.forget(Work(Topic.CLAIM, claim.uid))
            case PodWithdrawn(pod=pod):
                self.attempts.forget(Work(Topic.POD, pod.uid))
            case FeaturesObserved():
                self.attempts.forget_slices()
            case _:
                pass
        return self.widened(works)

    def saw(self, kind: Kind, version: int) -> None:
        """Notes that all changes of the kind up to the version were taken in."""
        self._seen[kind] = version

    def may_write(self, target: Work) -> bool:
        """Whether the outcome of the last write to the object is among what was seen."""
        return self.attempts.may_write(
            target, self._seen.get(_KINDS.get(target.topic, Kind.PODS), 0)
        )

    def everything(self) -> frozenset[Work]:
        """All that either side knows of."""
        return self.widened({FEATURES, *self.observed.everything(), *self.recorded.everything()})

    def consumers(self, record: ClaimRecord) -> tuple[Pod, ...]:
        """The pods that use what the claim was given and still want it, oldest decision first."""
        seen = (self.observed.pod(uid) for uid in record.consumers)
        return tuple(
            pod
            for pod in seen
            if pod is not None and not is_finished(pod) and pod.metadata.deletion_timestamp is None
        )

    def widened(self, works: Iterable[Work]) -> frozenset[Work]:
        """With what depends on it: the slices of a node's pools, the pods that use a claim."""
        found = set(works)
        for work in works:
            if work.topic is Topic.NODE:
                pools = self.recorded.pools_of.get(work.name, ())
                found.update(Work(Topic.POOL, *pool) for pool in pools)
            elif work.topic is Topic.CLAIM and (claim := self.recorded.claims.get(work.name)):
                found.update(Work(Topic.POD, uid) for uid in claim.consumers)
        return frozenset(found)


_KINDS: Final = {Topic.CLAIM: Kind.CLAIMS, Topic.POD: Kind.PODS, Topic.SLICE: Kind.SLICES}


def misplaced(mirror: Mirror, record: ClaimRecord, grant: Grant) -> Pod | None:
    """A pod that runs elsewhere than where the grant's devices are.

    It was bound in the moment in which its last allocation was taken back.
    """
    if grant.allocation.node_selector is None:
        return None
    for pod in mirror.consumers(record):
        if pod.spec.node_name not in (None, "", grant.node):
            return pod
    return None


def same_grant(one: AllocationResult | None, other: AllocationResult | None) -> bool:
    """Whether both give the same devices to the same requests.

    The rest may differ in form: the API server rewrites quantities and cuts times to seconds.
    """
    if one is None or other is None:
        return False
    return _devices(one) == _devices(other)


def holders(claim: ResourceClaim) -> frozenset[str]:
    """The uids of the pods for which the claim is reserved."""
    return frozenset(each.uid for each in claim.status.reserved_for or ())


def _devices(allocation: AllocationResult) -> frozenset[tuple[str, str, str, str, str | None]]:
    return frozenset(
        (each.request, each.driver, each.pool, each.device, each.share_id)
        for each in allocation.devices.results or ()
    )
