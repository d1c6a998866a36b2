"""What stands in the CDI directory: one spec a claim and driver, and one of the driver itself.

A spec carries its claim's record as an annotation, so that the directory is a second copy of what
the ledger holds. The same record always gives the same bytes. (CDI specification 0.6.0)
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from dra_node_agent.core.lifecycle import Phase
from dra_node_agent.core.plan import Driver
from dra_node_agent.core.record import ClaimRecord, PlannedDevice
from dra_shared.events.nodes import PreparedDevice

VERSION: Final = "0.6.0"
"""The oldest that has annotations: what more would ask for a newer container runtime."""

RECORD: Final = "dra-ledger/record"
SUFFIX: Final = ".json"
COMMON: Final = "common"


def kind(driver: Driver) -> str:
    """Vendor and class of the driver's CDI names."""
    return f"k8s.{driver.name}/{driver.profile.name}"


def file_name(driver: Driver, of: str = COMMON) -> str:
    """The spec file of a claim's uid, or of the driver itself."""
    return f"{_stem(driver)}{of}{SUFFIX}"


def uid_of(driver: Driver, name: str) -> str | None:
    """The claim's uid that a file is named after; None for files that are not the driver's."""
    stem = _stem(driver)
    if not name.startswith(stem) or not name.endswith(SUFFIX):
        return None
    uid = name.removeprefix(stem).removesuffix(SUFFIX)
    return None if uid == COMMON else uid


def common_spec(driver: Driver, node: str) -> bytes:
    """What all containers with a device of the driver see."""
    env = (f"KUBERNETES_NODE_NAME={node}", f"DRA_RESOURCE_DRIVER_NAME={driver.name}")
    return _spec(driver, [{"name": COMMON, "containerEdits": {"env": env}}])


def claim_spec(driver: Driver, record: ClaimRecord) -> bytes:
    """The spec of a claim: a device for each of its devices or shares."""
    kept = msgspec.structs.replace(record, phase=Phase.PREPARED)
    return _spec(
        driver,
        [
            {"name": _device_name(record, device), "containerEdits": _edits(device)}
            for device in record.devices
        ],
        annotations={RECORD: msgspec.json.encode(kept).decode()},
    )


def record_in(spec: bytes) -> ClaimRecord | None:
    """The record that a spec carries; None when there is none that can be read."""
    try:
        carried = msgspec.json.decode(spec, type=_Carrier).annotations.get(RECORD, "")
        return msgspec.json.decode(carried, type=ClaimRecord)
    except msgspec.DecodeError:
        return None


def prepared_devices(driver: Driver, record: ClaimRecord) -> tuple[PreparedDevice, ...]:
    """What the kubelet is told, in the order of the allocation."""
    return tuple(
        PreparedDevice(
            requests=device.requests,
            pool=device.pool,
            device=device.device,
            share_id=device.share_id,
            cdi_ids=(
                f"{kind(driver)}={COMMON}",
                f"{kind(driver)}={_device_name(record, device)}",
            ),
        )
        for device in record.devices
    )


class _Carrier(msgspec.Struct, frozen=True):
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


def _stem(driver: Driver) -> str:
    return f"{kind(driver).replace('/', '-')}_"


def _device_name(record: ClaimRecord, device: PlannedDevice) -> str:
    name = f"{record.claim.uid}-{device.device}"
    return f"{name}-{device.share_id}" if device.share_id else name


def _edits(device: PlannedDevice) -> dict[str, Any]:
    edits: dict[str, Any] = {"env": device.env}
    if device.device_nodes:
        edits["deviceNodes"] = [{"path": path} for path in device.device_nodes]
    return edits


def _spec(driver: Driver, devices: Iterable[object], **more: object) -> bytes:
    spec = {"cdiVersion": VERSION, "kind": kind(driver), **more, "devices": list(devices)}
    return msgspec.json.format(msgspec.json.encode(spec), indent=2) + b"\n"
