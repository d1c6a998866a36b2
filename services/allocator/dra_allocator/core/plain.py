"""The common case without a search: some whole devices for one request of one claim.

Gives the same answer as the search would, or none at all: whatever is not plain (shares, counters,
binding conditions, errors, network devices) is left to it. A test holds the two together.
"""

from collections.abc import Iterator

import msgspec

from dra_allocator.core.search.candidates import candidates
from dra_allocator.core.search.devices import PoolDevice
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.nodes import one_node
from dra_allocator.core.search.outcome import FoundClaim
from dra_allocator.core.search.plan import Alternative, PlannedClaim
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.selectors import Selectors
from dra_shared.events.allocations import Cost
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)

Configuration = tuple[DeviceAllocationConfiguration, ...] | None


class PlainRequest(msgspec.Struct, frozen=True, eq=False):
    """So many whole devices of one shape, nothing else."""

    alternative: Alternative
    count: int


def read_plain(planned: tuple[PlannedClaim, ...]) -> PlainRequest | None:
    """The one plain request that these claims consist of; None if they ask for more than that."""
    if len(planned) != 1 or len(planned[0].requests) != 1 or planned[0].constraints:
        return None
    request = planned[0].requests[0]
    one = request.alternatives[0]
    if request.chooses or one.admin or one.derived or one.shape.capacity or not one.count:
        return None
    return PlainRequest(one, one.count)


def busy(pool: Pool, in_use: InUse) -> int:
    """The mask of a pool's devices that a request for whole devices cannot have."""
    mask = 0
    for name, use in in_use.of(pool.id).devices.items():
        place = pool.index.get(name)
        if place is not None and (use.whole or not pool.devices[place].shareable):
            mask |= 1 << place
    return mask


def pick(
    request: PlainRequest, pools: tuple[Pool, ...], in_use: InUse, selectors: Selectors
) -> tuple[PoolDevice, ...] | None:
    """The first devices that will do, in search order; None if only the search can tell."""
    chosen: list[PoolDevice] = []
    for pool in pools:
        if pool.fault is not None:
            continue
        found = candidates(pool, request.alternative.shape, selectors)
        if found.failed:
            return None
        for device in _devices(pool, found.usable & ~busy(pool, in_use)):
            if not _is_plain(device):
                return None
            chosen.append(device)
            if len(chosen) == request.count:
                return tuple(chosen)
    return None


def allocate(
    request: PlainRequest, node: str, devices: tuple[PoolDevice, ...], configuration: Configuration
) -> FoundClaim:
    """What the claim gets with these devices of the node."""
    wish, name = request.alternative.wish, request.alternative.name
    results = tuple(
        DeviceRequestAllocationResult(
            request=name,
            driver=device.id.driver,
            pool=device.id.pool,
            device=device.id.device,
            tolerations=wish.tolerations or None,
        )
        for device in devices
    )
    return FoundClaim(
        allocation=AllocationResult(
            devices=DeviceAllocationResult(results=results, config=configuration),
            node_selector=one_node(node),
        ),
        costs=tuple(Cost(device=device.id) for device in devices),
    )


def _devices(pool: Pool, mask: int) -> Iterator[PoolDevice]:
    while mask:
        lowest = mask & -mask
        yield pool.devices[lowest.bit_length() - 1]
        mask ^= lowest


def _is_plain(device: PoolDevice) -> bool:
    spec, own = device.slice.spec, device.device
    return (
        spec.node_name is not None
        and not device.shareable
        and not own.consumes_counters
        and not own.binding_conditions
        and not own.binding_failure_conditions
        and not spec.skip_node_operations
        and not spec.per_device_node_selection
    )
