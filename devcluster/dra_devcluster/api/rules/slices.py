"""Rules for ResourceSlices: what a driver may publish, and which fields stay for ever."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from dra_devcluster.api.errors import FieldError, invalid_field, required_field
from dra_devcluster.api.names import (
    LABEL_RULE,
    SUBDOMAIN_RULE,
    is_driver_name,
    is_label,
    is_pool_name,
)
from dra_devcluster.api.resources import Object

DEVICE_LIMIT: Final = 128
HEAVY_DEVICE_LIMIT: Final = 64
"""The limit once any device has taints, counters or lists."""
COUNTER_SET_LIMIT: Final = 8
PROPERTY_LIMIT: Final = 32
WHERE: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
LIST_VALUES: Final = {"bools", "ints", "strings", "versions"}


def check_slice(piece: Object, old: Object | None) -> Iterator[FieldError]:
    """A slice on its way in, or a change of one."""
    spec = piece["spec"]
    if not is_driver_name(spec.get("driver", "")):
        yield invalid_field("spec.driver", spec.get("driver", ""), SUBDOMAIN_RULE)
    yield from _check_pool(spec.get("pool", {}))
    if sum(bool(spec.get(field)) for field in WHERE) != 1:
        listing = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
        yield required_field("spec", f"exactly one of {listing} is required")
    if spec.get("devices") and spec.get("sharedCounters"):
        yield FieldError(
            "spec", "Invalid value: only one of `devices` or `sharedCounters` is allowed"
        )
    yield from _check_devices(spec.get("devices") or [])
    if len(spec.get("sharedCounters", [])) > COUNTER_SET_LIMIT:
        yield _too_many("spec.sharedCounters", len(spec["sharedCounters"]), COUNTER_SET_LIMIT)
    if old is not None:
        yield from _check_fixed(spec, old["spec"])


def _check_pool(pool: Object) -> Iterator[FieldError]:
    if not is_pool_name(pool.get("name", "")):
        yield invalid_field("spec.pool.name", pool.get("name", ""), SUBDOMAIN_RULE)
    if pool.get("resourceSliceCount", 0) <= 0:
        count = pool.get("resourceSliceCount", 0)
        yield invalid_field("spec.pool.resourceSliceCount", count, "must be greater than zero")
    if pool.get("generation", 0) < 0:
        why = "must be greater than or equal to zero"
        yield invalid_field("spec.pool.generation", pool["generation"], why)


def _check_devices(devices: list[Object]) -> Iterator[FieldError]:
    limit = HEAVY_DEVICE_LIMIT if any(map(_is_heavy, devices)) else DEVICE_LIMIT
    if len(devices) > limit:
        yield _too_many("spec.devices", len(devices), limit)
    names = Counter(device.get("name", "") for device in devices)
    for index, device in enumerate(devices):
        field, name = f"spec.devices[{index}]", device.get("name", "")
        if not name:
            yield required_field(f"{field}.name")
        elif not is_label(name):
            yield invalid_field(f"{field}.name", name, LABEL_RULE)
        elif names[name] > 1:
            problem = f'Duplicate value: "{name}"'
            yield FieldError(f"{field}.name", problem, reason="FieldValueDuplicate")
        yield from _check_properties(device, field)


def _check_properties(device: Object, field: str) -> Iterator[FieldError]:
    properties = len(device.get("attributes", {})) + len(device.get("capacity", {}))
    if properties > PROPERTY_LIMIT:
        yield _too_many(field, properties, PROPERTY_LIMIT)
    for key, value in device.get("attributes", {}).items():
        if len(value) != 1:
            why = "exactly one value must be specified"
            yield FieldError(f"{field}.attributes[{key}]", f"Invalid value: {why}")


def _is_heavy(device: Object) -> bool:
    listed = any(LIST_VALUES & value.keys() for value in device.get("attributes", {}).values())
    return listed or bool(device.get("taints")) or bool(device.get("consumesCounters"))


def _check_fixed(spec: Object, old: Object) -> Iterator[FieldError]:
    immutable = "field is immutable"
    if spec.get("driver") != old.get("driver"):
        yield invalid_field("spec.driver", spec.get("driver"), immutable)
    if spec.get("pool", {}).get("name") != old.get("pool", {}).get("name"):
        yield invalid_field("spec.pool.name", spec.get("pool", {}).get("name"), immutable)
    for field in ("nodeName", "nodeSelector", "allNodes"):
        if field in old and spec.get(field) != old.get(field):
            yield invalid_field(f"spec.{field}", spec.get(field), immutable)


def _too_many(field: str, count: int, limit: int) -> FieldError:
    problem = f"Too many: {count}: must have at most {limit} items"
    return FieldError(field, problem, reason="FieldValueTooMany")
