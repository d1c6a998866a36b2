"""Simulated network cards, of which each claim gets a share of the bandwidth."""

from typing import Any, Final

from dra_node_agent.core.configs import Kinds, OpaqueConfig
from dra_node_agent.core.inventory import FoundDevice, Inventory
from dra_node_agent.core.profiles.profile import (
    DRIVER_VERSION,
    Sizes,
    consumed,
    simulated_uuid,
    variable,
)
from dra_shared.kube.claims import DeviceRequestAllocationResult
from dra_shared.kube.devices import (
    CapacityRange,
    CapacityRequestPolicy,
    Device,
    DeviceAttribute,
    DeviceCapacity,
)
from dra_shared.quantity import parse_quantity

_MAX_BURST_BITS: Final = (2**32 - 1) * 8
_MODEL: Final = DeviceAttribute(string="LATEST-NET-MODEL")
_BANDWIDTH: Final = DeviceCapacity(
    value="100G",
    request_policy=CapacityRequestPolicy(
        default="1G", valid_range=CapacityRange(min="100M", step="1M", max="100G")
    ),
)
_VFS: Final = DeviceCapacity(
    value="100", request_policy=CapacityRequestPolicy(default="1", valid_values=("1",))
)


def bits(quantity: str | int) -> int:
    """A quantity as a whole number, rounded up; raises QuantityError."""
    return parse_quantity(str(quantity)).whole


class BandwidthBurst(OpaqueConfig, frozen=True, kw_only=True):
    """How much may be sent above the rate, in bits; quantities, 0 for none."""

    ingress_burst: str | int = 0
    egress_burst: str | int = 0

    def __post_init__(self) -> None:
        """Refuses what is no quantity, or 4 GB and more."""
        for name, burst in (
            ("ingressBurst", self.ingress_burst),
            ("egressBurst", self.egress_burst),
        ):
            if not 0 <= bits(burst) < _MAX_BURST_BITS:
                message = f"`{name}` is {burst}, it must be from 0 to less than 4 GB"
                raise ValueError(message)


class NetConfig(OpaqueConfig, frozen=True, kw_only=True):
    """net.resource.example.com/v1alpha1 NetConfig."""

    bw_burst: BandwidthBurst = BandwidthBurst()


class Net:
    """The profile `net`."""

    name: Final = "net"
    kinds: Final[Kinds] = {("net.resource.example.com/v1alpha1", "NetConfig"): NetConfig}

    def inventory(self, node: str, sizes: Sizes) -> Inventory:
        """`nic-0` and so on."""
        return Inventory(devices=tuple(_device(node, index) for index in range(sizes.devices)))

    def env(
        self, driver: str, result: DeviceRequestAllocationResult, config: OpaqueConfig | None
    ) -> dict[str, str]:
        """Rates and bursts as plain numbers of bits."""
        name = f"NET_DEVICE_{variable(result.device, 'nic-')}"
        burst = (config if isinstance(config, NetConfig) else NetConfig()).bw_burst
        numbers: dict[str, Any] = {
            "INGRESS_BURST": bits(burst.ingress_burst) or None,
            "EGRESS_BURST": bits(burst.egress_burst) or None,
            "INGRESS_RATE": consumed(driver, result.consumed_capacity, "ingressBandwidth"),
            "EGRESS_RATE": consumed(driver, result.consumed_capacity, "egressBandwidth"),
        }
        return {
            f"{name}_{suffix}": str(bits(number))
            for suffix, number in numbers.items()
            if number is not None
        }


def _device(node: str, index: int) -> FoundDevice:
    identity = f"net-{simulated_uuid(node, 'net', index)}"
    return FoundDevice(
        identity=identity,
        device=Device(
            name=f"nic-{index}",
            attributes={
                "index": DeviceAttribute(integer=index),
                "uuid": DeviceAttribute(string=identity),
                "model": _MODEL,
                "driverVersion": DRIVER_VERSION,
            },
            capacity={
                "vfs": _VFS,
                "ingressBandwidth": _BANDWIDTH,
                "egressBandwidth": _BANDWIDTH,
            },
            allow_multiple_allocations=True,
        ),
    )
