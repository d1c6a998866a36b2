"""The API server's objects as the watches show them, with the indexes that planning needs.

Only `apply` changes it. It does not know the log, and it never writes anything.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from dra_api_bridge.core.objects import (
    ADMIN_LABEL,
    FINISHED,
    GATE,
    Address,
    Kind,
    KubeObject,
    Namespace,
    Topic,
    Work,
    address,
)
from dra_api_bridge.core.placement import ZERO, Amounts, requested
from dra_shared.kube.claims import DeviceClass, DeviceTaintRule, ResourceClaim
from dra_shared.kube.core import Node, Pod
from dra_shared.kube.devices import ResourceSlice

_TOPICS = {
    Node: Topic.NODE,
    DeviceClass: Topic.CLASS,
    DeviceTaintRule: Topic.TAINT_RULE,
}

ObjectT = TypeVar("ObjectT", bound=KubeObject)
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class Change(msgspec.Struct, frozen=True):
    """What a watch reported: the object as it is now, or None where there is none any more."""

    kind: Kind
    address: Address
    now: KubeObject | None


class Observed:
    """All watched objects by address, claims and pods also by uid."""

    def __init__(self) -> None:
        self._objects: dict[Kind, dict[Address, KubeObject]] = {kind: {} for kind in Kind}
        self._uids: dict[str, Address] = {}
        self._users: dict[Address, dict[str, None]] = {}
        self._slices: dict[tuple[str, str], dict[str, ResourceSlice]] = {}
        self._usage: dict[str, dict[str, Amounts]] = {}

    def apply(self, change: Change) -> frozenset[Work]:
        """Takes the change in; returns what has to be looked at again, nothing if nothing is new."""
        objects = self._objects[change.kind]
        before = objects.get(change.address)
        if before is change.now or _same_version(before, change.now):
            return frozenset()
        if change.now is None:
            del objects[change.address]
        else:
            objects[change.address] = change.now
        works: set[Work] = set()
        for known in (before, change.now):
            if known is not None:
                works.update(self._index(known, present=known is change.now))
        return frozenset(works)

    def replaced(self, kind: Kind, listed: Iterable[KubeObject]) -> Iterator[Change]:
        """The changes that lead to a list: what is new or different, and what has gone."""
        found = {address(item.metadata): item for item in listed}
        for gone in self._objects[kind].keys() - found.keys():
            yield Change(kind, gone, None)
        for place, item in found.items():
            yield Change(kind, place, item)

    def everything(self) -> frozenset[Work]:
        """All that there is to look at."""
        return frozenset(
            work
            for objects in self._objects.values()
            for known in objects.values()
            for work in self._works(known)
        )

    def claim(self, uid: str) -> ResourceClaim | None:
        """The claim with this uid, while it exists."""
        return self._by_uid(Kind.CLAIMS, uid, ResourceClaim)

    def claim_at(self, place: Address) -> ResourceClaim | None:
        """The claim of this name, whichever it is."""
        return _as(ResourceClaim, self._objects[Kind.CLAIMS].get(place))

    def pod(self, uid: str) -> Pod | None:
        """The pod with this uid, while it exists."""
        return self._by_uid(Kind.PODS, uid, Pod)

    def node(self, name: str) -> Node | None:
        """The node of this name."""
        return _as(Node, self._objects[Kind.NODES].get(Address("", name)))

    def device_class(self, name: str) -> DeviceClass | None:
        """The class of this name."""
        return _as(DeviceClass, self._objects[Kind.CLASSES].get(Address("", name)))

    def taint_rule(self, name: str) -> DeviceTaintRule | None:
        """The taint rule of this name."""
        return _as(DeviceTaintRule, self._objects[Kind.TAINT_RULES].get(Address("", name)))

    def slices(self, driver: str, pool: str) -> tuple[ResourceSlice, ...]:
        """All slices of a pool, by name."""
        return tuple(item for _, item in sorted(self._slices.get((driver, pool), {}).items()))

    def usage(self, node: str) -> dict[str, Amounts]:
        """What each unfinished pod on the node has set aside, by pod uid."""
        return self._usage.get(node, {})

    def allows_admin(self, namespace: str) -> bool:
        """Whether admin access may be granted in the namespace."""
        known = _as(Namespace, self._objects[Kind.NAMESPACES].get(Address("", namespace)))
        return known is not None and (known.metadata.labels or {}).get(ADMIN_LABEL) == "true"

    def _by_uid(self, kind: Kind, uid: str, shape: type[ObjectT]) -> ObjectT | None:
        place = self._uids.get(uid)
        known = self._objects[kind].get(place) if place is not None else None
        return _as(shape, known) if known is not None and known.metadata.uid == uid else None

    def _index(self, known: KubeObject, *, present: bool) -> Iterable[Work]:
        match known:
            case Pod():
                self._index_pod(known, present=present)
            case ResourceClaim():
                _keep(self._uids, known.metadata.uid, address(known.metadata), present=present)
            case ResourceSlice(spec=spec):
                pool = (spec.driver, spec.pool.name)
                _keep_in(self._slices, pool, known.metadata.name, known, present=present)
            case _:
                pass
        return self._works(known)

    def _index_pod(self, pod: Pod, *, present: bool) -> None:
        uid = pod.metadata.uid
        _keep(self._uids, uid, address(pod.metadata), present=present)
        for place in claim_addresses(pod).values():
            if place is not None:
                _keep_in(self._users, place, uid, None, present=present)
        node = pod.spec.node_name
        if node:
            held = present and not is_finished(pod)
            amounts = requested(pod.spec) if held else ZERO
            _keep_in(self._usage, node, uid, amounts, present=held)

    def _works(self, known: KubeObject) -> Iterable[Work]:
        match known:
            case ResourceClaim(metadata=metadata):
                yield Work(Topic.CLAIM, metadata.uid)
                for pod in self._users.get(address(metadata), ()):
                    yield Work(Topic.POD, pod)
            case Pod(metadata=metadata, spec=spec):
                yield Work(Topic.POD, metadata.uid)
                if spec.node_name:
                    yield Work(Topic.NODE, spec.node_name)
            case ResourceSlice(spec=spec):
                yield Work(Topic.POOL, spec.driver, spec.pool.name)
            case Namespace(metadata=metadata):
                yield from self._claims_in(metadata.name)
            case Node() | DeviceClass() | DeviceTaintRule():
                yield Work(_TOPICS[type(known)], known.metadata.name)

    def _claims_in(self, namespace: str) -> Iterable[Work]:
        for place, claim in self._objects[Kind.CLAIMS].items():
            if place.namespace == namespace:
                yield Work(Topic.CLAIM, claim.metadata.uid)


def is_gated(pod: Pod) -> bool:
    """Whether the pod carries our gate."""
    return any(gate.name == GATE for gate in pod.spec.scheduling_gates or ())


def is_finished(pod: Pod) -> bool:
    """Whether the pod uses nothing any more."""
    return pod.status.phase in FINISHED


def claim_addresses(pod: Pod) -> dict[str, Address | None]:
    """Where the claims of the pod's references are; None for one that is still to be made.

    A reference whose template was answered with no claim at all is left out, as it needs none.
    """
    made = {each.name: each for each in pod.status.resource_claim_statuses or ()}
    namespace = pod.metadata.namespace or ""
    found: dict[str, Address | None] = {}
    for wanted in pod.spec.resource_claims or ():
        name = wanted.resource_claim_name
        if name is None and wanted.name in made:
            name = made[wanted.name].resource_claim_name
            if name is None:
                continue
        found[wanted.name] = Address(namespace, name) if name is not None else None
    return found


def _same_version(before: KubeObject | None, now: KubeObject | None) -> bool:
    if before is None or now is None:
        return False
    return (
        before.metadata.uid == now.metadata.uid
        and before.metadata.resource_version == now.metadata.resource_version
    )


def _keep(index: dict[str, ValueT], key: str, value: ValueT, *, present: bool) -> None:
    if present:
        index[key] = value
    else:
        index.pop(key, None)


def _keep_in(
    index: dict[KeyT, dict[str, ValueT]], group: KeyT, key: str, value: ValueT, *, present: bool
) -> None:
    """The same in one group of an index; empty groups do not stay."""
    members = index.setdefault(group, {})
    _keep(members, key, value, present=present)
    if not members:
        del index[group]


def _as(shape: type[ObjectT], known: KubeObject | None) -> ObjectT | None:
    return known if isinstance(known, shape) else None
