"""What preparing a claim would be, worked out whole before anything is recorded or touched."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from dra_node_agent.core.configs import ResolvedConfig, config_for, decode_configs
from dra_node_agent.core.inventory import Inventory
from dra_node_agent.core.profiles.profile import Profile, variable
from dra_node_agent.core.record import PlannedDevice, Refused
from dra_shared.kube.claims import AllocationResult, DeviceRequestAllocationResult
from dra_shared.quantity import QuantityError

_UID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.-]{0,127}")
"""What may become part of a file's name and of a CDI device's name."""


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """One of the agent's drivers: its name and the kind of devices that it has."""

    name: str
    profile: Profile


def plan(
    uid: str, allocation: AllocationResult, driver: Driver, inventory: Inventory
) -> tuple[PlannedDevice, ...] | Refused:
    """The driver's devices of the claim, or why they cannot be prepared.

    Results and configurations of other drivers are left alone. The same device for several
    requests (admin access) is one device with several requests.
    """
    if not _UID.fullmatch(uid):
        return Refused(cause=f"{uid!r} cannot be the uid of a claim", permanent=True)
    configs = decode_configs(driver.name, driver.profile.kinds, allocation.devices.config or ())
    if isinstance(configs, Refused):
        return configs
    results = [r for r in allocation.devices.results or () if r.driver == driver.name]
    if not results:
        return Refused(cause=f"the claim has no device of {driver.name}", permanent=True)
    admin = any(result.admin_access for result in results)
    planned: dict[tuple[str, str, str | None], PlannedDevice] = {}
    for result in results:
        device = _plan_one(result, driver, inventory, configs)
        if isinstance(device, Refused):
            return device
        planned[device.key] = _merge(planned.get(device.key), device)
    return tuple(_for_claim(device, uid, driver, admin=admin) for device in planned.values())


def same_devices(
    planned: Sequence[PlannedDevice], allocation: AllocationResult, driver: str
) -> bool:
    """Whether the allocation still is the one that the devices were planned from."""
    results = allocation.devices.results or ()
    given = {(r.pool, r.device, r.share_id) for r in results if r.driver == driver}
    return given == {device.key for device in planned}


def _plan_one(
    result: DeviceRequestAllocationResult,
    driver: Driver,
    inventory: Inventory,
    configs: Sequence[ResolvedConfig],
) -> PlannedDevice | Refused:
    found = inventory.find(result.device)
    if found is None:
        return Refused(
            cause=f"device {result.device} is not on this node now ({len(inventory.devices)} "
            f"devices of {driver.name} are)",
            device=result.device,
        )
    try:
        env = driver.profile.env(driver.name, result, config_for(result.request, configs))
    except QuantityError as error:
        return Refused(cause=str(error), permanent=True, device=result.device)
    return PlannedDevice(
        requests=(result.request.partition("/")[0],),
        pool=result.pool,
        device=result.device,
        identity=found.identity,
        share_id=result.share_id,
        admin=bool(result.admin_access),
        env=_lines(env),
        device_nodes=found.device_nodes,
    )


def _merge(first: PlannedDevice | None, other: PlannedDevice) -> PlannedDevice:
    if first is None:
        return other
    requests = dict.fromkeys((*first.requests, *other.requests))
    return msgspec.structs.replace(first, requests=tuple(requests))


def _for_claim(device: PlannedDevice, uid: str, driver: Driver, *, admin: bool) -> PlannedDevice:
    of_claim = {
        f"{driver.profile.name.upper()}_DEVICE_{variable(device.device)}_RESOURCE_CLAIM": uid,
        "DRA_ADMIN_ACCESS": "true" if admin else "false",
    }
    return msgspec.structs.replace(device, env=(*_lines(of_claim), *device.env))


def _lines(env: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in env.items())
