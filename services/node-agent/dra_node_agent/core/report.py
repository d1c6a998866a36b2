"""Which facts the log lacks about a driver's devices: the difference of two reports."""

from collections.abc import Iterator

import msgspec

from dra_node_agent.core.inventory import Fault, Inventory
from dra_shared.events.fact import size_of
from dra_shared.events.nodes import (
    DeviceFaultCleared,
    DeviceFaultRaised,
    DevicesReported,
    ReportedDevice,
)
from dra_shared.kube.devices import CounterSet

ReportFact = DevicesReported | DeviceFaultRaised | DeviceFaultCleared


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What the log holds about one driver's devices; faults by device, then by cause."""

    devices: tuple[ReportedDevice, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()
    faults: dict[str, dict[str, Fault]] = msgspec.field(default_factory=dict)


def report(inventory: Inventory) -> Report:
    """The report that an inventory deserves."""
    return Report(
        devices=tuple(
            ReportedDevice(identity=found.identity, device=found.device)
            for found in inventory.devices
        ),
        counter_sets=inventory.counter_sets,
        faults={
            found.device.name: {fault.cause: fault for fault in found.faults}
            for found in inventory.devices
            if found.faults
        },
    )


def changes(node: str, driver: str, old: Report | None, new: Report) -> tuple[ReportFact, ...]:
    """The facts that make `old` into `new`: none when nothing changed; None is no report at all."""
    known = old or Report()
    facts: list[ReportFact] = []
    if old is None or (old.devices, old.counter_sets) != (new.devices, new.counter_sets):
        facts.append(_reported(node, driver, new))
    facts.extend(
        DeviceFaultCleared(node=node, driver=driver, device=device, cause=fault.cause)
        for device, fault in _faults(known)
        if fault.cause not in new.faults.get(device, {})
    )
    facts.extend(
        DeviceFaultRaised(
            node=node,
            driver=driver,
            device=device,
            cause=fault.cause,
            severity=fault.severity,
            message=fault.message,
        )
        for device, fault in _faults(new)
        if known.faults.get(device, {}).get(fault.cause) != fault
    )
    return tuple(facts)


def report_size(node: str, driver: str, new: Report) -> int:
    """Bytes of the fact that tells of the report's devices."""
    return size_of(_reported(node, driver, new))


def only_faults(known: Report, new: Report) -> Report:
    """The devices that are known, with the faults they have now; one not found keeps its own."""
    told = {device.device.name for device in known.devices}
    here = {device.device.name for device in new.devices}
    kept = {name: faults for name, faults in known.faults.items() if name not in here}
    now = {name: faults for name, faults in new.faults.items() if name in told}
    return msgspec.structs.replace(known, faults=kept | now)


def evolve(known: Report | None, fact: ReportFact) -> Report:
    """The report with one more fact of the log."""
    old = known or Report()
    match fact:
        case DevicesReported():
            return msgspec.structs.replace(
                old, devices=fact.devices, counter_sets=fact.counter_sets
            )
        case DeviceFaultRaised():
            fault = Fault(cause=fact.cause, severity=fact.severity, message=fact.message)
            open_faults = {**old.faults.get(fact.device, {}), fact.cause: fault}
            return msgspec.structs.replace(old, faults={**old.faults, fact.device: open_faults})
        case DeviceFaultCleared():
            left = {
                cause: fault
                for cause, fault in old.faults.get(fact.device, {}).items()
                if cause != fact.cause
            }
            others = {name: open_ for name, open_ in old.faults.items() if name != fact.device}
            faults = {**others, fact.device: left} if left else others
            return msgspec.structs.replace(old, faults=faults)


def _reported(node: str, driver: str, new: Report) -> DevicesReported:
    return DevicesReported(
        node=node, driver=driver, devices=new.devices, counter_sets=new.counter_sets
    )


def _faults(of: Report) -> Iterator[tuple[str, Fault]]:
    for device, faults in of.faults.items():
        for fault in faults.values():
            yield device, fault
