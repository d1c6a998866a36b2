"""Simulated GPUs: whole, shared, or cut into partitions that share their GPU's counters."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Final

import msgspec

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
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
)

_MEMORY_GI: Final = 80
_COMPUTE: Final = 100
_MODEL: Final = DeviceAttribute(string="LATEST-GPU-MODEL")


class Strategy(StrEnum):
    """How the claims of one GPU take turns, or do not."""

    TIME_SLICING = "TimeSlicing"
    SPACE_PARTITIONING = "SpacePartitioning"


class Interval(StrEnum):
    """How long a turn is."""

    DEFAULT = "Default"
    SHORT = "Short"
    MEDIUM = "Medium"
    LONG = "Long"


class TimeSlicingConfig(OpaqueConfig, frozen=True, kw_only=True):
    """For TimeSlicing."""

    interval: Interval = Interval.DEFAULT


class SpacePartitioningConfig(OpaqueConfig, frozen=True, kw_only=True):
    """For SpacePartitioning."""

    partition_count: Annotated[int, msgspec.Meta(ge=1)] = 1


class Sharing(OpaqueConfig, frozen=True, kw_only=True):
    """How a GPU is shared; only the block of the chosen strategy may be given."""

    strategy: Strategy
    time_slicing_config: TimeSlicingConfig | None = None
    space_partitioning_config: SpacePartitioningConfig | None = None

    def __post_init__(self) -> None:
        """Refuses a block that would be ignored."""
        for strategy, name, block in (
            (Strategy.TIME_SLICING, "timeSlicingConfig", self.time_slicing_config),
            (
                Strategy.SPACE_PARTITIONING,
                "spacePartitioningConfig",
                self.space_partitioning_config,
            ),
        ):
            if block is not None and strategy is not self.strategy:
                message = f"`{name}` does not go with strategy {self.strategy}"
                raise ValueError(message)


class GpuConfig(OpaqueConfig, frozen=True, kw_only=True):
    """gpu.resource.example.com/v1alpha1 GpuConfig."""

    sharing: Sharing = Sharing(strategy=Strategy.TIME_SLICING)


class Gpu:
    """The profile `gpu`."""

    name: Final = "gpu"
    kinds: Final[Kinds] = {("gpu.resource.example.com/v1alpha1", "GpuConfig"): GpuConfig}

    def inventory(self, node: str, sizes: Sizes) -> Inventory:
        """`gpu-0` and so on; with partitions `gpu-0-partition-0` and so on, then `gpu-0-full`."""
        if not sizes.gpu_partitions:
            whole = (_device(node, index, sizes) for index in range(sizes.devices))
            return Inventory(devices=tuple(whole))
        return Inventory(
            devices=tuple(
                found for index in range(sizes.devices) for found in _partitions(node, index, sizes)
            ),
            counter_sets=tuple(
                CounterSet(name=f"gpu-{index}-counters", counters=_counters(_amounts(1)))
                for index in range(sizes.devices)
            ),
        )

    def env(
        self, driver: str, result: DeviceRequestAllocationResult, config: OpaqueConfig | None
    ) -> dict[str, str]:
        """Name, sharing, and what a share was given."""
        name = f"GPU_DEVICE_{variable(result.device, 'gpu-')}"
        gpu_config = config if isinstance(config, GpuConfig) else GpuConfig()
        env = {name: result.device, **_sharing_env(name, gpu_config.sharing)}
        for key, suffix in (("memory", "MEMORY"), ("compute", "COMPUTE")):
            amount = consumed(driver, result.consumed_capacity, key)
            if amount is not None:
                env[f"{name}_{suffix}"] = amount
        return env


def _sharing_env(name: str, sharing: Sharing) -> dict[str, str]:
    env = {f"{name}_SHARING_STRATEGY": str(sharing.strategy)}
    if sharing.strategy is Strategy.TIME_SLICING:
        slicing = sharing.time_slicing_config or TimeSlicingConfig()
        env[f"{name}_TIMESLICE_INTERVAL"] = str(slicing.interval)
    else:
        partitioning = sharing.space_partitioning_config or SpacePartitioningConfig()
        env[f"{name}_PARTITION_COUNT"] = str(partitioning.partition_count)
    return env


def _device(node: str, index: int, sizes: Sizes) -> FoundDevice:
    return FoundDevice(
        identity=f"gpu-{simulated_uuid(node, 'gpu', index)}",
        device=Device(
            name=f"gpu-{index}",
            attributes=_attributes(node, index),
            capacity=_capacity(_amounts(1), shared=sizes.gpu_multiple_allocations),
            allow_multiple_allocations=sizes.gpu_multiple_allocations,
        ),
    )


def _partitions(node: str, index: int, sizes: Sizes) -> Iterator[FoundDevice]:
    for part in range(sizes.gpu_partitions):
        extra = {"partition": DeviceAttribute(integer=part)}
        yield _part(node, index, sizes, (f"partition-{part}", sizes.gpu_partitions, extra))
    yield _part(node, index, sizes, ("full", 1, {"full": DeviceAttribute(boolean=True)}))


def _part(
    node: str, index: int, sizes: Sizes, part: tuple[str, int, dict[str, DeviceAttribute]]
) -> FoundDevice:
    suffix, parts, extra = part
    amounts = _amounts(parts)
    return FoundDevice(
        identity=f"gpu-{simulated_uuid(node, 'gpu', index)}/{suffix}",
        device=Device(
            name=f"gpu-{index}-{suffix}",
            attributes={
                **_attributes(node, index),
                "partitionable": DeviceAttribute(boolean=True),
                **extra,
            },
            capacity=_capacity(amounts, shared=sizes.gpu_multiple_allocations),
            consumes_counters=(
                DeviceCounterConsumption(
                    counter_set=f"gpu-{index}-counters", counters=_counters(amounts)
                ),
            ),
            allow_multiple_allocations=sizes.gpu_multiple_allocations,
        ),
    )


def _attributes(node: str, index: int) -> dict[str, DeviceAttribute]:
    return {
        "index": DeviceAttribute(integer=index),
        "uuid": DeviceAttribute(string=f"gpu-{simulated_uuid(node, 'gpu', index)}"),
        "model": _MODEL,
        "driverVersion": DRIVER_VERSION,
    }


def _amounts(parts: int) -> dict[str, str]:
    memory = (
        f"{_MEMORY_GI // parts}Gi" if _MEMORY_GI % parts == 0 else f"{_MEMORY_GI * 1024 // parts}Mi"
    )
    return {"memory": memory, "compute": str(_COMPUTE // parts)}


def _counters(amounts: dict[str, str]) -> dict[str, Counter]:
    return {name: Counter(value=value) for name, value in amounts.items()}


def _capacity(amounts: dict[str, str], *, shared: bool) -> dict[str, DeviceCapacity]:
    steps = {"memory": "1Gi", "compute": "1"}
    return {
        name: DeviceCapacity(
            value=value,
            request_policy=CapacityRequestPolicy(
                default=value,
                valid_range=CapacityRange(min=steps[name], step=steps[name], max=value),
            )
            if shared
            else None,
        )
        for name, value in amounts.items()
    }
