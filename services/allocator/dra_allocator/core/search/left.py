"""What is left of a pool for requests of a shape, as masks: without a search, and worked out once.

A mask says of each device what a search would find if it tried this device first. It is kept with
what is in use of the pool until that changes, since the count of a node and the choice on it ask
for the same.
"""

from functools import lru_cache

import msgspec

from dra_allocator.core.search.capacity import lacking
from dra_allocator.core.search.devices import UNGROUPED, CounterName, PoolDevice
from dra_allocator.core.search.in_use import UNUSED, PoolUse
from dra_allocator.core.search.offers import bits
from dra_allocator.core.search.pools import Pool
from dra_allocator.core.search.shapes import Candidates
from dra_allocator.core.search.traits import Draw, Traits
from dra_allocator.core.search.trial import NOTHING, PoolTrial


def traits_of(pool: Pool) -> Traits:
    """Give the traits of the pool's devices."""
    found = pool.traits
    if found is None:
        found = _once(_read(pool))
        msgspec.structs.force_setattr(pool, "traits", found)
    return found


def left(pool: Pool, found: Candidates, use: PoolUse) -> int:
    """Give the candidates of which enough is left, and those whose looking at is an error."""
    if use is UNUSED:
        return _left(pool, found, use)
    mask = use.left.get(found)
    if mask is None:
        mask = use.left[found] = _left(pool, found, use)
    return mask


def _left(pool: Pool, found: Candidates, use: PoolUse) -> int:
    traits = traits_of(pool)
    mask = (found.usable | found.failed) & ~_busy(pool, traits, use)
    if traits.draws:
        short = _short_of_counters(pool, traits, use)
        mask &= ~(short & ~found.failed)
    if found.consumed:
        mask &= ~_short_of_capacity(pool, found, use, mask & traits.shareable & ~found.failed)
    if traits.intricate & mask:
        mask &= ~_clashing(pool, use, mask & traits.intricate & ~found.failed)
    return mask


def _busy(pool: Pool, traits: Traits, use: PoolUse) -> int:
    """The devices that a request for whole devices cannot have."""
    mask = 0
    for name, device in use.devices.items():
        place = pool.index.get(name)
        if place is not None and (device.whole or not traits.shareable >> place & 1):
            mask |= 1 << place
    return mask


def _short_of_counters(pool: Pool, traits: Traits, use: PoolUse) -> int:
    """The devices that draw more than is left; all that draw, if a counter is overdrawn (KEP-4815).

    Where a holder has named compatibility groups, which today's devices need not, a trial tells.
    """
    if use.grouped:
        return _clashing(pool, use, traits.drawing)
    amounts, drawn = pool.counters, use.counters
    for counter, taken in drawn.items():
        if taken > amounts.get(counter, taken):
            return traits.drawing
    mask = 0
    for draw in traits.draws:
        mask |= draw.short(amounts.get(draw.counter, 0) - drawn.get(draw.counter, 0))
    return mask


def _short_of_capacity(pool: Pool, found: Candidates, use: PoolUse, mask: int) -> int:
    """The devices of which too little is left for the share that each would give (KEP-5075)."""
    short = 0
    for place in bits(mask):
        device = pool.devices[place]
        held = use.devices.get(device.id.device, NOTHING).capacity
        if lacking(device.capacities, found.consumed.get(place, {}), held):
            short |= 1 << place
    return short


def _clashing(pool: Pool, use: PoolUse, mask: int) -> int:
    """The devices that counters or compatibility groups keep from being taken."""
    trial = PoolTrial(pool, use, 0)
    return sum(1 << place for place in bits(mask) if not trial.is_available(place, admin=False))


def _read(pool: Pool) -> Traits:
    plain = whole = shareable = intricate = drawing = 0
    drawn: dict[CounterName, list[tuple[int, int]]] = {}
    for place, device in enumerate(pool.devices):
        bit = 1 << place
        shareable |= bit if device.shareable else 0
        if _is_plain(device):
            plain |= bit
            whole |= 0 if device.shareable or device.device.consumes_counters else bit
        grouped = any(groups != UNGROUPED for groups in device.groups.values())
        if device.counters and (device.shareable or grouped):
            intricate |= bit
        elif any(device.counters.values()):
            drawing |= bit
            for counter, amount in device.counters.items():
                drawn.setdefault(counter, []).append((amount, bit))
    draws = tuple(_draw(counter, amounts) for counter, amounts in drawn.items())
    return Traits(plain, whole, shareable, drawing, draws, intricate)


def _draw(counter: CounterName, drawn: list[tuple[int, int]]) -> Draw:
    amounts = sorted({amount for amount, _ in drawn})
    devices = [sum(bit for amount, bit in drawn if amount >= least) for least in amounts]
    return Draw(counter, tuple(amounts), (*devices, 0))


def _is_plain(device: PoolDevice) -> bool:
    spec, own = device.slice.spec, device.device
    return (
        spec.node_name is not None
        and not own.binding_conditions
        and not own.binding_failure_conditions
        and not spec.skip_node_operations
        and not spec.per_device_node_selection
    )


@lru_cache(maxsize=1024)
def _once(traits: Traits) -> Traits:
    """The same object for all pools whose devices have the same traits."""
    return traits
