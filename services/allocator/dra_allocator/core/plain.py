"""The common cases without a search: one request of one claim, for devices of one node.

Some whole devices, with the same value of an attribute if that is wanted, or one device with
counters or a share of one. Gives the same answer as the search would, or none at all: whatever is
not plain (binding conditions, errors, network devices, lists of values) is left to it. A test
holds the two together.
"""

from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from dra_allocator.core.search.alike import alike_in
from dra_allocator.core.search.candidates import candidates
from dra_allocator.core.search.devices import PoolDevice
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.nodes import one_node
from dra_allocator.core.search.offers import bits
from dra_allocator.core.search.outcome import FoundClaim
from dra_allocator.core.search.plan import Alternative, PlannedClaim
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.results import cost_of
from dra_allocator.core.search.selectors import Selectors
from dra_allocator.core.search.shapes import Candidates
from dra_allocator.core.search.trial import PoolTrial
from dra_shared.events.allocations import Cost
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from dra_shared.quantity import Quantity

Configuration = tuple[DeviceAllocationConfiguration, ...] | None


class PlainRequest(msgspec.Struct, frozen=True, eq=False):
    """So many devices of one shape, nothing else but that they share the value of `match`."""

    alternative: Alternative
    count: int
    match: str | None


class Picked(msgspec.Struct, frozen=True, eq=False):
    """A device for a request, and what a share of it takes."""

    device: PoolDevice
    consumed: dict[str, Quantity]


def read_plain(planned: tuple[PlannedClaim, ...]) -> PlainRequest | None:
    """The one plain request that these claims consist of; None if they ask for more than that."""
    if len(planned) != 1 or len(planned[0].requests) != 1 or len(planned[0].constraints) > 1:
        return None
    request = planned[0].requests[0]
    one = request.alternatives[0]
    if request.chooses or one.admin or one.derived or not one.count:
        return None
    constraint = planned[0].constraints[0] if one.constraints else None
    if constraint is not None and constraint.distinct:
        return None
    return PlainRequest(one, one.count, constraint.attribute if constraint else None)


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
) -> tuple[Picked, ...] | None:
    """The first devices that will do, in search order; None if only the search can tell."""
    offers: list[tuple[Pool, Candidates, int]] = []
    for pool in pools:
        if pool.fault is not None:
            continue
        found = candidates(pool, request.alternative.shape, selectors)
        if found.failed:
            return None
        free = found.usable & ~busy(pool, in_use)
        if free:
            offers.append((pool, found, free))
    if request.match is not None:
        return _pick_alike(request, offers)
    if request.count == 1:
        return _pick_one(offers, in_use)
    return _pick_whole(request, offers)


def allocate(
    request: PlainRequest,
    node: str,
    devices: tuple[Picked, ...],
    configuration: Configuration,
    share_id: Callable[[int], str],
) -> FoundClaim:
    """What the claim gets with these devices of the node. `share_id` names the n-th share."""
    wish, name = request.alternative.wish, request.alternative.name
    results: list[DeviceRequestAllocationResult] = []
    costs: list[Cost] = []
    for number, one in enumerate(devices):
        id_ = one.device.id
        share = share_id(number) if one.device.shareable else None
        results.append(
            DeviceRequestAllocationResult(
                request=name,
                driver=id_.driver,
                pool=id_.pool,
                device=id_.device,
                tolerations=wish.tolerations or None,
                share_id=share,
                consumed_capacity={name: str(n) for name, n in one.consumed.items()} or None,
            )
        )
        costs.append(cost_of(one.device, share, one.consumed))
    return FoundClaim(
        allocation=AllocationResult(
            devices=DeviceAllocationResult(results=tuple(results), config=configuration),
            node_selector=one_node(node),
        ),
        costs=tuple(costs),
    )


def _pick_one(
    offers: Sequence[tuple[Pool, Candidates, int]], in_use: InUse
) -> tuple[Picked, ...] | None:
    """The first device of which enough is left."""
    for pool, found, free in offers:
        trial: PoolTrial | None = None
        for place in bits(free):
            device = pool.devices[place]
            if not _is_plain(device):
                return None
            consumed = found.consumed.get(place, {})
            if not (device.shareable or device.counters):
                return (Picked(device, consumed),)
            trial = trial or PoolTrial(pool, in_use.of(pool.id), 1)
            short = trial.lacks_capacity(place, consumed, admin=False)
            if not short and trial.is_available(place, admin=False):
                return (Picked(device, consumed),)
    return None


def _pick_whole(
    request: PlainRequest, offers: Sequence[tuple[Pool, Candidates, int]]
) -> tuple[Picked, ...] | None:
    chosen: list[Picked] = []
    for pool, _, free in offers:
        for place in bits(free):
            device = pool.devices[place]
            if not _is_whole(device):
                return None
            chosen.append(Picked(device, {}))
            if len(chosen) == request.count:
                return tuple(chosen)
    return None


def _pick_alike(
    request: PlainRequest, offers: Sequence[tuple[Pool, Candidates, int]]
) -> tuple[Picked, ...] | None:
    """The devices of the value that comes first among those with enough devices, in one pool."""
    if len(offers) != 1 or request.match is None:
        return None
    pool, _, free = offers[0]
    alike = alike_in(pool, request.match)
    if alike.odd & free:
        return None
    enough = [mask & free for mask in alike.masks if (mask & free).bit_count() >= request.count]
    if not enough:
        return None
    first = min(enough, key=lambda mask: mask & -mask)
    devices = [pool.devices[place] for place in islice(bits(first), request.count)]
    if not all(_is_whole(pool.devices[place]) for place in bits(free)):
        return None
    return tuple(Picked(device, {}) for device in devices)


def _is_whole(device: PoolDevice) -> bool:
    return _is_plain(device) and not device.shareable and not device.device.consumes_counters


def _is_plain(device: PoolDevice) -> bool:
    spec, own = device.slice.spec, device.device
    return (
        spec.node_name is not None
        and not own.binding_conditions
        and not own.binding_failure_conditions
        and not spec.skip_node_operations
        and not spec.per_device_node_selection
    )
