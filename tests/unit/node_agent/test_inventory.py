"""The inventory file: devices by serial; what cannot be used is left out and named."""

import json
from typing import Any

import pytest

from dra_node_agent.core.inventory import Inventory, InventoryError, decode_inventories


def decode(*devices: dict[str, Any]) -> tuple[Inventory, tuple[str, ...]]:
    inventories, warnings = decode_inventories(json.dumps({"d": {"devices": devices}}).encode())
    return inventories["d"], warnings


def test_a_device_is_a_slices_device_with_serial_nodes_and_faults() -> None:
    inventory, warnings = decode(
        {
            "serial": "S0",
            "name": "d0",
            "attributes": {"numa": {"int": 1}},
            "capacity": {"memory": {"value": "8Gi"}},
            "deviceNodes": ["/dev/d0"],
            "faults": [{"cause": "hot", "severity": "degraded"}],
        }
    )
    (found,) = inventory.devices
    assert not warnings
    assert found.identity == "S0"
    assert found.device.attributes
    assert found.device.attributes["numa"].integer == 1
    assert found.device_nodes == ("/dev/d0",)
    assert found.faults[0].cause == "hot"


@pytest.mark.parametrize(
    "bad",
    [
        {"serial": None},
        {"name": "d1"},
        {"serial": "", "name": "d1"},
        {"serial": "S1"},
        {"serial": "S0", "name": "d1"},
        {"serial": "S1", "name": "d0"},
        {"serial": "S1", "name": "D1"},
        {"serial": "S1", "name": "../d1"},
        {"serial": "S1", "name": "d1", "colour": "red"},
    ],
)
def test_one_bad_entry_costs_no_other_and_lends_nothing(bad: dict[str, Any]) -> None:
    inventory, warnings = decode(
        {"serial": "S0", "name": "d0"}, bad, {"serial": "S2", "name": "d2"}
    )
    assert [(f.identity, f.device.name) for f in inventory.devices] == [("S0", "d0"), ("S2", "d2")]
    assert len(warnings) == 1
    assert "device 1 of d" in warnings[0]


@pytest.mark.parametrize("text", ["", "[", "[]", '{"d": 1}', '{"d": {"device": []}}'])
def test_what_is_no_inventory_is_an_error(text: str) -> None:
    with pytest.raises(InventoryError):
        decode_inventories(text.encode())
