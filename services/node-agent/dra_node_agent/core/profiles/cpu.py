"""Simulated NUMA nodes, whose CPUs are handed out in shares."""

from typing import Final

from dra_node_agent.core.configs import Kinds, OpaqueConfig
from dra_node_agent.core.inventory import FoundDevice, Inventory
from dra_node_agent.core.profiles.profile import Sizes, consumed, simulated_uuid, variable
from dra_shared.kube.claims import DeviceRequestAllocationResult
from dra_shared.kube.devices import Device, DeviceAttribute, DeviceCapacity

_CAPACITY: Final = "cpu.example.com/cpu"


class Cpu:
    """The profile `cpu`. It takes no configuration."""

    name: Final = "cpu"
    kinds: Final[Kinds] = {}

    def inventory(self, node: str, sizes: Sizes) -> Inventory:
        """`numa-0` and so on."""
        return Inventory(
            devices=tuple(_device(node, index, sizes) for index in range(sizes.numa_nodes))
        )

    def env(
        self,
        driver: str,
        result: DeviceRequestAllocationResult,
        config: OpaqueConfig | None,  # noqa: ARG002 - the profile's shape; cpu has no configuration
    ) -> dict[str, str]:
        """Name, and how many CPUs the share has."""
        name = f"CPU_DEVICE_{variable(result.device, 'numa-')}"
        amount = consumed(driver, result.consumed_capacity, "cpu")
        share = {} if amount is None else {f"{name}_CONSUMED_CPU": amount}
        return {name: result.device, **share}


def _device(node: str, index: int, sizes: Sizes) -> FoundDevice:
    return FoundDevice(
        identity=f"numa-{simulated_uuid(node, 'cpu', index)}",
        device=Device(
            name=f"numa-{index}",
            attributes={"numaNodeID": DeviceAttribute(integer=index)},
            capacity={_CAPACITY: DeviceCapacity(value=str(sizes.cpus_per_numa_node))},
            allow_multiple_allocations=True,
            node_allocatable_resource_mappings={"cpu": {"capacityKey": _CAPACITY}},
        ),
    )
