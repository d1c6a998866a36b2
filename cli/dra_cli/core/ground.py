"""The cluster as a log tells it up to a place: what hypothetical objects are put on.

Folded into a state of its own, which nobody else has: whatever is tried on it, the log and those
who follow it stay as they are.
"""

from collections.abc import Collection, Iterable, Iterator

from dra_allocator.core.fold.registers import PoolKey, Registers
from dra_allocator.core.policy import DEFAULT
from dra_allocator.core.replay import new_state
from dra_api_bridge.core.objects import Address, address
from dra_api_bridge.core.observed import claim_addresses
from dra_cli.core.completion import There
from dra_cli.core.manifests import AnyObject
from dra_cli.core.sentences import instant
from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.envelope import UnknownFact, UnreadableFact
from dra_shared.ids import ObjectRef
from dra_shared.kube.claims import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_shared.kube.core import Node, Pod
from dra_shared.kube.devices import ResourceSlice
from dra_shared.kube.meta import ObjectMeta
from dra_shared.log.protocol import Record


class Ground:
    """All records so far, of the `log` of that name; without one there is nothing at all.

    `sequence`, `time`: of the newest record; `policy`: of the newest decision. `unread`: places
    of facts that this release does not understand.
    """

    def __init__(self, log: str = "") -> None:
        self.log = log
        self.state = new_state()
        self.sequence = 0
        self.time = ""
        self.policy = DEFAULT
        self.unread: list[int] = []

    def take(self, record: Record) -> None:
        """Takes in the next record of the log."""
        self.state.fold((record,))
        self.sequence, self.time = record.sequence, instant(record.time_ns)
        match record.envelope.fact:
            case ClaimAllocated(policy=policy):
                self.policy = policy
            case UnknownFact() | UnreadableFact():
                self.unread.append(record.sequence)
            case _:
                pass

    @property
    def place(self) -> str:
        """Where in the log this is, as people read it."""
        if not self.sequence:
            return f"the log of {self.log} before its first fact"
        return f"the log of {self.log} up to sequence {self.sequence}, {self.time}"

    def there(self, objects: Iterable[AnyObject]) -> There:
        """What these objects may refer to: all nodes, and the claims that the pods among them use."""
        registers = self.state.registers
        pods = [one for one in objects if isinstance(one, Pod)]
        wanted = {place for pod in pods for place in claim_addresses(pod).values()}
        claims = (
            _claim(registers, uid, one.claim)
            for uid, one in sorted(registers.claims.items())
            if Address(one.claim.namespace, one.claim.name) in wanted
        )
        return There(tuple(claims), frozenset(registers.nodes))

    def clashes(self, objects: Iterable[AnyObject]) -> Iterator[AnyObject]:
        """Those of the objects that the log has already.

        A class or a taint rule that is the same there is no clash.
        """
        registers = self.state.registers
        claims = _Refs(one.claim for _, one in registers.claims.items())
        pods = _Refs(one.request.pod for _, one in registers.pods.items())
        pools: Collection[PoolKey] = {*registers.pools, *registers.foreign}
        for one in objects:
            match one:
                case Node(metadata=meta):
                    known = meta.name in registers.nodes
                case ResourceSlice(spec=spec):
                    known = (spec.driver, spec.pool.name) in pools
                case ResourceClaim(metadata=meta):
                    known = claims.have(meta)
                case Pod(metadata=meta):
                    known = pods.have(meta)
                case DeviceClass() | DeviceTaintRule():
                    known = _is_different(registers, one)
                case _:
                    known = False
            if known:
                yield one


def described(one: AnyObject) -> str:
    """Kind and name, and of a slice its pool."""
    name = f"{type(one).__name__} {'/'.join(filter(None, address(one.metadata)))}"
    if isinstance(one, ResourceSlice):
        return f"{name} of pool {one.spec.driver}/{one.spec.pool.name}"
    return name


class _Refs:
    """Objects of the log by name and by uid."""

    def __init__(self, refs: Iterable[ObjectRef]) -> None:
        self._names: set[Address] = set()
        self._uids: set[str] = set()
        for ref in refs:
            self._names.add(Address(ref.namespace, ref.name))
            self._uids.add(ref.uid)

    def have(self, meta: ObjectMeta) -> bool:
        return address(meta) in self._names or meta.uid in self._uids


def _is_different(registers: Registers, one: DeviceClass | DeviceTaintRule) -> bool:
    register = registers.classes if isinstance(one, DeviceClass) else registers.taint_rules
    known = register.get(one.metadata.name)
    return known is not None and known.spec != one.spec


def _claim(registers: Registers, uid: str, ref: ObjectRef) -> ResourceClaim:
    """The claim as the API server shows it once all that was decided is written there."""
    requested, holding = registers.claims.get(uid), registers.holdings.get(uid)
    assert requested is not None
    return ResourceClaim(
        metadata=ObjectMeta(name=ref.name, namespace=ref.namespace, uid=uid),
        spec=requested.spec,
        status=ResourceClaimStatus(allocation=holding.allocation if holding else None),
    )
