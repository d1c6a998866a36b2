"""Facts of the node agents: what devices a node has, how they are, what was prepared."""

from enum import StrEnum

import msgspec

from dra_shared.events.fact import Fact
from dra_shared.ids import ObjectRef
from dra_shared.kube.devices import CounterSet, Device


class AgentStarted(Fact, frozen=True, kw_only=True, tag="agent.started.v1"):
    """An agent runs on the node. A new boot id means that all device set-up is gone."""

    node: str
    boot_id: str
    agent_version: str
    drivers: tuple[str, ...]


class AgentStopped(Fact, frozen=True, kw_only=True, tag="agent.stopped.v1"):
    """An agent ended in good order; a crash leaves no such fact, only a silent heartbeat."""

    node: str
    boot_id: str
    reason: str


class ReportedDevice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A device as found, with an identity (serial, bus id) that outlives names and reboots."""

    identity: str
    device: Device


class DevicesReported(Fact, frozen=True, kw_only=True, tag="devices.reported.v1"):
    """All devices that one driver has on the node, in the order in which they are preferred."""

    node: str
    driver: str
    devices: tuple[ReportedDevice, ...]
    counter_sets: tuple[CounterSet, ...] = ()


class Severity(StrEnum):
    """What a fault means for new claims: a note, no new ones, or those that run must go too."""

    NOTE = "note"
    DEGRADED = "degraded"
    CRITICAL = "critical"


class DeviceFaultRaised(Fact, frozen=True, kw_only=True, tag="device.fault_raised.v1"):
    """Something is wrong with a device; several causes may be open at once."""

    node: str
    driver: str
    device: str
    cause: str
    severity: Severity
    message: str = ""


class DeviceFaultCleared(Fact, frozen=True, kw_only=True, tag="device.fault_cleared.v1"):
    """One cause is over."""

    node: str
    driver: str
    device: str
    cause: str


class PreparedDevice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the kubelet was told about one device of a claim."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_ids: tuple[str, ...]
    share_id: str | None = None


class ClaimPrepared(Fact, frozen=True, kw_only=True, tag="claim.prepared.v1"):
    """The claim's devices of one driver are set up; its CDI file is on disk."""

    node: str
    driver: str
    claim: ObjectRef
    boot_id: str
    devices: tuple[PreparedDevice, ...]


class ClaimPrepareFailed(Fact, frozen=True, kw_only=True, tag="claim.prepare_failed.v1"):
    """A set-up failed and was undone. Permanent failures will fail again the same way."""

    node: str
    driver: str
    claim: ObjectRef
    cause: str
    permanent: bool
    attempt: int
    device: str | None = None


class ClaimUnprepared(Fact, frozen=True, kw_only=True, tag="claim.unprepared.v1"):
    """Nothing of the claim is left on the node."""

    node: str
    driver: str
    claim: ObjectRef


NodeFact = (
    AgentStarted
    | AgentStopped
    | DevicesReported
    | DeviceFaultRaised
    | DeviceFaultCleared
    | ClaimPrepared
    | ClaimPrepareFailed
    | ClaimUnprepared
)
