"""The common cases without a search: one request of one claim, for devices of one node.

Some whole devices, with the same value of an attribute if that is wanted, or one device with
counters or a share of one. Gives the same answer as the search would, or none at all: whatever is
not plain (binding conditions, errors, network devices, lists of values) is left to it. A test
holds the two together.
"""

from collections.abc import Sequence
from itertools import islice

import msgspec

from dra_allocator.core.moment import Moment
from dra_allocator.core.search.alike import alike_in
from dra_allocator.core.search.candidates import candidates
from dra_allocator.core.search.devices import PoolDevice, cost_of
from dra_allocator.core.search.in_use import InUse
from dra_allocator.core.search.left import left, traits_of
from dra_allocator.core.search.nodes import one_node
from dra_allocator.core.search.offers import bits
from dra_allocator.core.search.outcome import FoundClaim
from dra_allocator.core.search.plan import Alternative, PlannedClaim
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.selectors import Selectors
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from dra_shared.quantity import Quantity

Configuration = tuple[DeviceAllocationConfiguration, ...] | None

Offer = tuple[Pool, int]
"""A pool, and its devices of which enough is left, as a mask that is not empty."""


class PlainRequest(msgspec.Struct, frozen=True, eq=False):
    """So many devices of one shape, nothing else but that they share the value of `match`."""

    alternative: Alternative
    count: int
    match: str | None


class Picked(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Devices for a request; if it is one that others may share, what the share takes of it."""

    devices: tuple[PoolDevice, ...]
    consumed: dict[str, Quantity] | None = None


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


def offers_of(
    request: PlainRequest, pools: tuple[Pool, ...], in_use: InUse, selectors: Selectors
) -> list[Offer] | None:
    """What the pools have for the request, in search order; None if only the search can tell."""
    offers: list[Offer] = []
    for pool in pools:
        if pool.fault is not None:
            continue
        found = candidates(pool, request.alternative.shape, selectors)
        if found.failed:
            return None
        free = left(pool, found, in_use.of(pool.id))
        if free:
            offers.append((pool, free))
    return offers


def pick(request: PlainRequest, offers: Sequence[Offer], selectors: Selectors) -> Picked | None:
    """The first devices that will do, in search order; None if only the search can tell.

    There is at least one offer.
    """
    if request.match is not None:
        return _pick_alike(request, request.match, offers)
    if request.count == 1:
        return _pick_one(request, offers, selectors)
    return _pick_whole(request, offers)


def allocate(
    request: PlainRequest, node: str, picked: Picked, configuration: Configuration, moment: Moment
) -> FoundClaim:
    """What the claim gets at this moment with these devices of the node."""
    if picked.consumed is None:
        results = [_result(request, device) for device in picked.devices]
        costs = tuple([device.cost for device in picked.devices])
    else:
        share = moment.share_id(0)
        capacity = {name: str(amount) for name, amount in picked.consumed.items()}
        results = [_result(request, device, share, capacity or None) for device in picked.devices]
        costs = tuple([cost_of(device, share, capacity) for device in picked.devices])
    return FoundClaim(
        allocation=AllocationResult(
            devices=DeviceAllocationResult(results=tuple(results), config=configuration),
            node_selector=one_node(node),
            allocation_timestamp=moment.rfc3339(),
        ),
        costs=costs,
    )


def _result(
    request: PlainRequest,
    device: PoolDevice,
    share: str | None = None,
    capacity: dict[str, str] | None = None,
) -> DeviceRequestAllocationResult:
    id_, wanted = device.id, request.alternative
    return DeviceRequestAllocationResult(
        request=wanted.name,
        driver=id_.driver,
        pool=id_.pool,
        device=id_.device,
        tolerations=wanted.wish.tolerations or None,
        share_id=share,
        consumed_capacity=capacity,
    )


def _pick_one(
    request: PlainRequest, offers: Sequence[Offer], selectors: Selectors
) -> Picked | None:
    """The first device of which enough is left."""
    pool, free = offers[0]
    place = (free & -free).bit_length() - 1
    traits = traits_of(pool)
    if not traits.plain >> place & 1:
        return None
    if not traits.shareable >> place & 1:
        return Picked((pool.devices[place],))
    found = candidates(pool, request.alternative.shape, selectors)
    return Picked((pool.devices[place],), found.consumed.get(place) or {})


def _pick_whole(request: PlainRequest, offers: Sequence[Offer]) -> Picked | None:
    chosen: list[PoolDevice] = []
    for pool, free in offers:
        whole = traits_of(pool).whole
        for place in bits(free):
            if not whole >> place & 1:
                return None
            chosen.append(pool.devices[place])
            if len(chosen) == request.count:
                return Picked(tuple(chosen))
    return None


def _pick_alike(request: PlainRequest, match: str, offers: Sequence[Offer]) -> Picked | None:
    """The devices of the value that comes first among those with enough devices, in one pool."""
    if len(offers) != 1:
        return None
    pool, free = offers[0]
    alike = alike_in(pool, match)
    if alike.odd & free or free & ~traits_of(pool).whole:
        return None
    first = 0
    for mask in alike.masks:
        here = mask & free
        if here.bit_count() >= request.count and (not first or here & -here < first & -first):
            first = here
    if not first:
        return None
    return Picked(tuple([pool.devices[place] for place in islice(bits(first), request.count)]))
