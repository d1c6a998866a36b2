"""Slices with the taints of DeviceTaintRules on their devices, as the search wants them (KEP-5055)."""

from collections.abc import Iterable

import msgspec

from dra_shared.kube.claims import DeviceTaintRule, DeviceTaintSelector
from dra_shared.kube.devices import Device, DeviceTaint, ResourceSlice


def tainted(slice_: ResourceSlice, rules: Iterable[DeviceTaintRule]) -> ResourceSlice:
    """The slice with each rule's taint added to the devices it selects, rules in the order given."""
    matching = [rule for rule in rules if concerns(rule, slice_.spec.driver, slice_.spec.pool.name)]
    if not matching:
        return slice_
    devices = tuple(_taint(device, matching) for device in slice_.spec.devices or ())
    spec = msgspec.structs.replace(slice_.spec, devices=devices)
    return msgspec.structs.replace(slice_, spec=spec)


def concerns(rule: DeviceTaintRule, driver: str, pool: str) -> bool:
    """Whether the rule may taint devices of this pool; a rule that selects nothing taints nothing."""
    selector = rule.spec.device_selector
    if selector is None or selector == DeviceTaintSelector():
        return False
    return selector.driver in (None, driver) and selector.pool in (None, pool)


def _taint(device: Device, rules: list[DeviceTaintRule]) -> Device:
    added: tuple[DeviceTaint, ...] = tuple(
        rule.spec.taint
        for rule in rules
        if rule.spec.device_selector and rule.spec.device_selector.device in (None, device.name)
    )
    if not added:
        return device
    return msgspec.structs.replace(device, taints=(*(device.taints or ()), *added))
