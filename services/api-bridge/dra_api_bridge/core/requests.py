"""The writes that the bridge makes, as values, and the HTTP requests that each of them is.

Small on purpose: patches carry only what changes, and the versions that they rely on.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from dra_api_bridge.core.attempts import Unfit
from dra_api_bridge.core.objects import GATE, Topic, Work
from dra_shared.ids import ObjectRef, digest
from dra_shared.kube.claims import (
    FINALIZER,
    AllocationResult,
    ResourceClaimConsumerReference,
)
from dra_shared.kube.core import Pod
from dra_shared.kube.devices import ResourceSlice


class PatchType(StrEnum):
    """How a body is to be read; empty for a whole object."""

    WHOLE = "application/json"
    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


class Request(msgspec.Struct, frozen=True):
    """One HTTP request; `path` is below the server's address."""

    method: str
    path: str
    content_type: PatchType
    body: bytes | None


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """Something to be changed in the API: for which work, and by which fact of the log."""

    work: Work
    sequence: int

    @property
    def target(self) -> Work:
        """The object that is changed: its writes come one after the other."""
        return self.work


class Allocate(Write, frozen=True, kw_only=True):
    """Gives the claim its allocation and reserves it, in one write.

    `finalizer`: it is not there yet and has to be added first, in a write of its own.
    """

    claim: ObjectRef
    version: str
    allocation: AllocationResult
    reserved_for: tuple[ResourceClaimConsumerReference, ...]
    finalizers: tuple[str, ...] | None = None


class Reserve(Write, frozen=True, kw_only=True):
    """Lets more pods use a claim that is allocated; `reserved_for` is the whole list."""

    claim: ObjectRef
    version: str
    reserved_for: tuple[ResourceClaimConsumerReference, ...]


class TakeBack(Write, frozen=True, kw_only=True):
    """Takes the allocation away from a claim whose only pod cannot run there."""

    claim: ObjectRef
    version: str
    unfit: Unfit


class Ungate(Write, frozen=True, kw_only=True):
    """Hands the pod to the scheduler, which goes where its claims' allocations say.

    The pod is not pinned as well: node affinity cannot be changed any more once the gate is gone,
    so a pod whose node turns out to be full could never move. What the pin would save is
    kube-scheduler's look at the other nodes, 4 microseconds of CPU each (1.37.2, 1,000 nodes).
    """

    pod: Pod


class Tell(Write, frozen=True, kw_only=True):
    """Puts an event on a pod that says why it waits.

    Said when the fact was written; at `sequence` 0, where no fact says it, at `time_ns` 0: now.
    """

    pod: ObjectRef
    message: str
    time_ns: int


class SliceWrite(Write, frozen=True, kw_only=True):
    """A change of one slice; `item` carries the uid and version it replaces, if there is one."""

    item: ResourceSlice

    @property
    def target(self) -> Work:
        """The slice; its work is the pool."""
        return Work(Topic.SLICE, self.item.metadata.name)


class CreateSlice(SliceWrite, frozen=True, kw_only=True):
    """Publishes a slice that is not there."""


class UpdateSlice(SliceWrite, frozen=True, kw_only=True):
    """Replaces a slice that differs."""


class DeleteSlice(SliceWrite, frozen=True, kw_only=True):
    """Takes a slice away, this very one as it was seen."""


AnyWrite = Allocate | Reserve | TakeBack | Ungate | Tell | CreateSlice | UpdateSlice | DeleteSlice

CORE: Final = "/api/v1"

MOST_OF_A_MESSAGE: Final = 1000
"""Bytes of an event's text; the API takes 1,024."""


def requests(write: AnyWrite, resource_api: str) -> tuple[Request, ...]:
    """What to send, in this order, each only after the one before succeeded.

    `resource_api` is the served version's path, such as /apis/resource.k8s.io/v1.
    """
    match write:
        case Allocate():
            return _allocate(write, resource_api)
        case Reserve(claim=claim, version=version):
            status: Mapping[str, Any] = {"reservedFor": write.reserved_for}
            return (_status_patch(resource_api, claim, version, status),)
        case TakeBack(claim=claim, version=version):
            status = {"allocation": None, "reservedFor": None}
            return (_status_patch(resource_api, claim, version, status),)
        case Ungate():
            return (_ungate(write),)
        case Tell():
            return (_event(write),)
        case _:
            return (_slice(write, f"{resource_api}/resourceslices"),)


def _allocate(write: Allocate, api: str) -> tuple[Request, ...]:
    status = {"allocation": write.allocation, "reservedFor": write.reserved_for}
    if write.finalizers is None:
        return (_status_patch(api, write.claim, write.version, status),)
    metadata = {
        "uid": write.claim.uid,
        "resourceVersion": write.version,
        "finalizers": (*write.finalizers, FINALIZER),
    }
    first = _patch(_claim_path(api, write.claim), {"metadata": metadata})
    return first, _status_patch(api, write.claim, None, status)


def _status_patch(
    api: str, claim: ObjectRef, version: str | None, status: Mapping[str, Any]
) -> Request:
    """A merge patch; without a version it relies on the uid and on an allocation never changing."""
    metadata = {"uid": claim.uid}
    if version is not None:
        metadata["resourceVersion"] = version
    return _patch(f"{_claim_path(api, claim)}/status", {"metadata": metadata, "status": status})


def _patch(path: str, body: Mapping[str, Any]) -> Request:
    return Request("PATCH", path, PatchType.MERGE, msgspec.json.encode(body))


def _claim_path(api: str, claim: ObjectRef) -> str:
    return f"{api}/namespaces/{claim.namespace}/resourceclaims/{claim.name}"


def _ungate(write: Ungate) -> Request:
    metadata = write.pod.metadata
    gates = [gate.name for gate in write.pod.spec.scheduling_gates or ()]
    place = f"/spec/schedulingGates/{gates.index(GATE)}"
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": metadata.uid},
        {"op": "test", "path": f"{place}/name", "value": GATE},
        {"op": "remove", "path": place},
    ]
    path = f"{CORE}/namespaces/{metadata.namespace}/pods/{metadata.name}"
    return Request("PATCH", path, PatchType.JSON, msgspec.json.encode(operations))


def _event(write: Tell) -> Request:
    """An event whose name follows from what it says, so that it is made once."""
    pod, said_by = write.pod, str(write.sequence) if write.sequence else write.message
    seconds, nanos = divmod(write.time_ns, 10**9)
    said = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    event = {
        "metadata": {"name": f"{pod.name[:200]}.{digest(pod.uid, said_by)}"},
        "eventTime": f"{said}.{nanos // 1000:06}Z",
        "firstTimestamp": f"{said}Z",
        "lastTimestamp": f"{said}Z",
        "reportingComponent": "dra-ledger.io/api-bridge",
        "reportingInstance": "api-bridge",
        "action": "Allocate",
        "reason": "DevicesNotAllocated",
        "type": "Warning",
        "message": write.message.encode()[:MOST_OF_A_MESSAGE].decode(errors="ignore"),
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
    }
    path = f"/api/v1/namespaces/{pod.namespace}/events"
    return Request("POST", path, PatchType.WHOLE, msgspec.json.encode(event))


def _slice(write: CreateSlice | UpdateSlice | DeleteSlice, path: str) -> Request:
    match write:
        case CreateSlice(item=item):
            return Request("POST", path, PatchType.WHOLE, msgspec.json.encode(item))
        case UpdateSlice(item=item):
            place = f"{path}/{item.metadata.name}"
            return Request("PUT", place, PatchType.WHOLE, msgspec.json.encode(item))
        case DeleteSlice(item=item):
            seen = item.metadata
            same = {"uid": seen.uid, "resourceVersion": seen.resource_version}
            body = msgspec.json.encode({"preconditions": same})
            return Request("DELETE", f"{path}/{seen.name}", PatchType.WHOLE, body)
