"""Builders for unit tests of the node agent: drivers, inventories, records that fit together."""

from typing import Any

from dra_node_agent.core.inventory import FoundDevice, Inventory
from dra_node_agent.core.lifecycle import Phase
from dra_node_agent.core.plan import Driver
from dra_node_agent.core.profiles.catalog import PROFILES, driver_name
from dra_node_agent.core.record import ClaimRecord, PlannedDevice
from dra_shared.ids import ObjectRef
from dra_shared.kube.devices import Device


def a_driver(profile: str = "gpu") -> Driver:
    return Driver(name=driver_name(PROFILES[profile]), profile=PROFILES[profile])


def an_inventory(*names: str) -> Inventory:
    return Inventory(
        devices=tuple(FoundDevice(identity=f"S-{n}", device=Device(name=n)) for n in names)
    )


def a_planned(device: str = "gpu-0", **fields: Any) -> PlannedDevice:
    defaults = {"requests": ("r",), "pool": "node-a", "identity": f"S-{device}"}
    return PlannedDevice(device=device, **{**defaults, **fields})


def a_record(
    name: str = "c1", *devices: PlannedDevice, phase: Phase = Phase.PREPARED, boot: str = "b1"
) -> ClaimRecord:
    return ClaimRecord(
        claim=ObjectRef("ns", name, f"{name}-uid"),
        driver="gpu.example.com",
        boot_id=boot,
        phase=phase,
        devices=devices or (a_planned(),),
    )
