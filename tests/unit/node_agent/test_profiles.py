"""Simulated devices look like those of the public example driver, to the API and in containers."""

import re
import uuid
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_facts import a_config, a_result, an_allocation, gpu_config
from unit.node_agent.builders import a_driver, an_inventory

from dra_node_agent.core.inventory import Inventory
from dra_node_agent.core.plan import plan
from dra_node_agent.core.profiles.catalog import PROFILES
from dra_node_agent.core.profiles.profile import Sizes
from dra_node_agent.core.record import Refused
from dra_shared.kube.claims import DeviceAllocationConfiguration
from dra_shared.kube.devices import Device
from dra_shared.quantity import parse_quantity


def as_json(device: Device) -> Any:
    return msgspec.json.decode(msgspec.json.encode(device))


def devices(profile: str, **sizes: Any) -> dict[str, Any]:
    inventory = PROFILES[profile].inventory("node-a", Sizes(**sizes))
    return {found.device.name: as_json(found.device) for found in inventory.devices}


def env(
    profile: str,
    device: str,
    *config: DeviceAllocationConfiguration,
    **fields: Any,
) -> dict[str, str]:
    driver = a_driver(profile)
    allocation = an_allocation(a_result(device, driver=driver.name, **fields), config=config)
    planned = plan("c1-uid", allocation, driver, an_inventory(device))
    assert not isinstance(planned, Refused), planned
    return dict(line.split("=", 1) for line in planned[0].env)


def test_gpus_have_the_example_drivers_attributes_and_capacities() -> None:
    found = devices("gpu", devices=2)
    assert list(found) == ["gpu-0", "gpu-1"]
    attributes = found["gpu-1"]["attributes"]
    assert attributes["index"] == {"int": 1}
    assert attributes["model"] == {"string": "LATEST-GPU-MODEL"}
    assert attributes["driverVersion"] == {"version": "1.0.0"}
    assert found["gpu-1"]["capacity"] == {"memory": {"value": "80Gi"}, "compute": {"value": "100"}}
    assert found["gpu-1"]["allowMultipleAllocations"] is False


def test_shared_gpus_hand_out_whole_steps_of_what_they_have() -> None:
    gpu = devices("gpu", devices=1, gpu_multiple_allocations=True)["gpu-0"]
    assert gpu["allowMultipleAllocations"] is True
    assert gpu["capacity"]["memory"]["requestPolicy"] == {
        "default": "80Gi",
        "validRange": {"min": "1Gi", "step": "1Gi", "max": "80Gi"},
    }


def test_partitions_share_the_counters_of_their_gpu() -> None:
    inventory = PROFILES["gpu"].inventory("node-a", Sizes(devices=2, gpu_partitions=4))
    names = [found.device.name for found in inventory.devices]
    assert names[:5] == [*(f"gpu-0-partition-{n}" for n in range(4)), "gpu-0-full"]
    assert [counters.name for counters in inventory.counter_sets] == [
        "gpu-0-counters",
        "gpu-1-counters",
    ]
    part = as_json(inventory.devices[1].device)
    assert part["capacity"]["memory"] == {"value": "20Gi"}
    assert part["attributes"]["partition"] == {"int": 1}
    assert part["consumesCounters"] == [
        {
            "counterSet": "gpu-0-counters",
            "counters": {"memory": {"value": "20Gi"}, "compute": {"value": "25"}},
        }
    ]


@given(st.integers(1, 80))
def test_the_parts_of_a_gpu_never_sum_to_more_than_it_has(parts: int) -> None:
    found = devices("gpu", devices=1, gpu_partitions=parts)
    for capacity in ("memory", "compute"):
        whole = parse_quantity(found["gpu-0-full"]["capacity"][capacity]["value"])
        one = parse_quantity(found["gpu-0-partition-0"]["capacity"][capacity]["value"])
        assert one.nanos * parts <= whole.nanos


def test_nics_and_numa_nodes_are_shared() -> None:
    nic = devices("net", devices=1)["nic-0"]
    assert nic["allowMultipleAllocations"] is True
    assert nic["capacity"]["vfs"] == {
        "value": "100",
        "requestPolicy": {"default": "1", "validValues": ["1"]},
    }
    assert nic["capacity"]["egressBandwidth"]["requestPolicy"]["validRange"] == {
        "min": "100M",
        "step": "1M",
        "max": "100G",
    }
    numa = devices("cpu", numa_nodes=2, cpus_per_numa_node=4)["numa-1"]
    assert numa["attributes"] == {"numaNodeID": {"int": 1}}
    assert numa["capacity"] == {"cpu.example.com/cpu": {"value": "4"}}
    assert numa["nodeAllocatableResourceMappings"] == {
        "cpu": {"capacityKey": "cpu.example.com/cpu"}
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_identities_are_the_same_at_each_start_and_differ_everywhere_else(profile: str) -> None:
    def identities(node: str) -> list[str]:
        inventory: Inventory = PROFILES[profile].inventory(node, Sizes())
        return [found.identity for found in inventory.devices]

    assert identities("node-a") == identities("node-a")
    every = identities("node-a") + identities("node-b")
    assert len(set(every)) == len(every)
    assert all(uuid.UUID(re.sub(r"^[a-z]+-", "", one)) for one in every)


def test_a_container_with_a_gpu_sees_its_name_claim_and_sharing() -> None:
    assert env("gpu", "gpu-3") == {
        "GPU_DEVICE_GPU_3_RESOURCE_CLAIM": "c1-uid",
        "DRA_ADMIN_ACCESS": "false",
        "GPU_DEVICE_3": "gpu-3",
        "GPU_DEVICE_3_SHARING_STRATEGY": "TimeSlicing",
        "GPU_DEVICE_3_TIMESLICE_INTERVAL": "Default",
    }


def test_a_container_sees_the_configuration_and_what_its_share_was_given() -> None:
    config = a_config(
        gpu_config(strategy="SpacePartitioning", spacePartitioningConfig={"partitionCount": 10})
    )
    seen = env(
        "gpu",
        "gpu-0-partition-0",
        config,
        share_id="s1",
        consumed_capacity={"memory": "8Gi", "compute": "10"},
        admin_access=True,
    )
    assert seen["GPU_DEVICE_0_PARTITION_0"] == "gpu-0-partition-0"
    assert seen["GPU_DEVICE_0_PARTITION_0_SHARING_STRATEGY"] == "SpacePartitioning"
    assert seen["GPU_DEVICE_0_PARTITION_0_PARTITION_COUNT"] == "10"
    assert seen["GPU_DEVICE_0_PARTITION_0_MEMORY"] == "8Gi"
    assert seen["GPU_DEVICE_0_PARTITION_0_COMPUTE"] == "10"
    assert seen["GPU_DEVICE_GPU_0_PARTITION_0_RESOURCE_CLAIM"] == "c1-uid"
    assert seen["DRA_ADMIN_ACCESS"] == "true"


def test_a_container_with_a_share_of_a_nic_sees_plain_numbers_of_bits() -> None:
    config = a_config(
        {
            "apiVersion": "net.resource.example.com/v1alpha1",
            "kind": "NetConfig",
            "bwBurst": {"ingressBurst": "1G", "egressBurst": 0},
        },
        driver="net.example.com",
    )
    seen = env(
        "net",
        "nic-0",
        config,
        share_id="s1",
        consumed_capacity={"ingressBandwidth": "10G", "egressBandwidth": "5G", "vfs": "1"},
    )
    assert seen == {
        "NET_DEVICE_NIC_0_RESOURCE_CLAIM": "c1-uid",
        "DRA_ADMIN_ACCESS": "false",
        "NET_DEVICE_0_INGRESS_BURST": "1000000000",
        "NET_DEVICE_0_INGRESS_RATE": "10000000000",
        "NET_DEVICE_0_EGRESS_RATE": "5000000000",
    }


def test_a_container_with_a_share_of_a_numa_node_sees_how_many_cpus() -> None:
    seen = env("cpu", "numa-1", share_id="s", consumed_capacity={"cpu.example.com/cpu": "2"})
    assert seen["CPU_DEVICE_1"] == "numa-1"
    assert seen["CPU_DEVICE_1_CONSUMED_CPU"] == "2"
