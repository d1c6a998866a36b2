"""The kinds of claims that the allocator benchmarks ask for, and the nodes that can serve them."""

import uuid
from collections.abc import Callable
from typing import Final

import msgspec

from dra_shared.kube import claims as kube
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

DRIVER: Final = "gpu.bench.example"
DEVICES: Final = 8
CLASS: Final = "gpu"
SHARE: Final = "40Gi"
PARTITIONS: Final = (("whole", 4), ("three", 3), *(("half", 2),) * 2, *(("quarter", 1),) * 4)
"""What a GPU can be cut into, and how many of its four counters each part takes."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of claim, and of node. `device`: by the names of its node and its place
    there. `slots`: the places of the devices that one claim gets."""

    title: str
    claim: kube.ResourceClaimSpec
    device: Callable[[str, int], Device]
    slots: tuple[tuple[int, ...], ...]
    counters: tuple[CounterSet, ...] = ()


def selector(expression: str) -> kube.DeviceSelector:
    """A CEL selector."""
    return kube.DeviceSelector(cel=kube.CELDeviceSelector(expression=expression))


def _claim(*, match: str = "", **exactly: object) -> kube.ResourceClaimSpec:
    request = kube.ExactDeviceRequest(device_class_name=CLASS, **exactly)
    return kube.ResourceClaimSpec(
        devices=kube.DeviceClaim(
            requests=(kube.DeviceRequest(name="r", exactly=request),),
            constraints=(kube.DeviceConstraint(match_attribute=match),) if match else None,
        )
    )


def _serial(node: str, number: int) -> DeviceAttribute:
    """No two devices of a cluster are alike."""
    return DeviceAttribute(string=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{node}/{number}")))


def _gpu(node: str, number: int) -> Device:
    return Device(
        name=f"gpu-{number}",
        attributes={
            "model": DeviceAttribute(string="LATEST-GPU"),
            "numa": DeviceAttribute(integer=number // 4),
            "uuid": _serial(node, number),
        },
        capacity={"memory": DeviceCapacity(value="80Gi")},
    )


def _shared_gpu(node: str, number: int) -> Device:
    policy = CapacityRequestPolicy(
        default="80Gi", valid_range=CapacityRange(min="1Gi", max="80Gi", step="1Gi")
    )
    return msgspec.structs.replace(
        _gpu(node, number),
        capacity={"memory": DeviceCapacity(value="80Gi", request_policy=policy)},
        allow_multiple_allocations=True,
    )


def _partition(node: str, number: int) -> Device:
    profile, amount = PARTITIONS[number]
    taken = DeviceCounterConsumption(
        counter_set="gpu", counters={"slices": Counter(value=str(amount))}
    )
    return Device(
        name=f"{profile}-{number}",
        attributes={
            "profile": DeviceAttribute(string=profile),
            "uuid": _serial(node, number),
        },
        capacity={"memory": DeviceCapacity(value=f"{20 * amount}Gi")},
        consumes_counters=(taken,),
    )


_EACH: Final = tuple((place,) for place in range(DEVICES))

KINDS: Final[dict[str, Kind]] = {
    "plain": Kind(title="one device", claim=_claim(), device=_gpu, slots=_EACH),
    "match": Kind(
        title="4 of 8 with one NUMA node (matchAttribute)",
        claim=_claim(count=4, match=f"{DRIVER}/numa"),
        device=_gpu,
        slots=((0, 1, 2, 3), (4, 5, 6, 7)),
    ),
    "selector": Kind(
        title="one device, CEL on model and memory",
        claim=_claim(
            selectors=(
                selector(
                    f'device.attributes["{DRIVER}"].model == "LATEST-GPU" && '
                    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
                ),
            )
        ),
        device=_gpu,
        slots=_EACH,
    ),
    "shares": Kind(
        title="half of a device's memory (consumable capacity)",
        claim=_claim(capacity=kube.CapacityRequirements(requests={"memory": SHARE})),
        device=_shared_gpu,
        slots=tuple((place // 2,) for place in range(2 * DEVICES)),
    ),
    "partitions": Kind(
        title="a quarter of a GPU (shared counters)",
        claim=_claim(selectors=(selector(f'device.attributes["{DRIVER}"].profile == "quarter"'),)),
        device=_partition,
        slots=tuple(
            (place,) for place, (profile, _) in enumerate(PARTITIONS) if profile == "quarter"
        ),
        counters=(CounterSet(name="gpu", counters={"slices": Counter(value="4")}),),
    ),
}
