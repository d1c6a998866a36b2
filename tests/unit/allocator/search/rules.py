"""Rules that the checker needs and that stand alone: which pools count, what a request takes.

Written with fractions and plain loops, on purpose unlike the search.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction

from dra_allocator.core.search.nodes import NodeView, selector_picks
from dra_shared.kube.devices import (
    CapacityRange,
    CapacityRequestPolicy,
    Device,
    DeviceCapacity,
    ResourceSlice,
    ResourceSliceSpec,
)
from dra_shared.quantity import NANOS, parse_quantity

PoolKey = tuple[str, str]


def number(text: str) -> Fraction:
    return Fraction(parse_quantity(text).nanos, NANOS)


def reaches(where: ResourceSliceSpec | Device, node: NodeView) -> bool:
    if where.node_name:
        return where.node_name == node.name
    if where.all_nodes:
        return True
    return where.node_selector is not None and selector_picks(where.node_selector, node)


def sees(slice_: ResourceSlice, node: NodeView) -> bool:
    if slice_.spec.per_device_node_selection:
        return any(reaches(device, node) for device in slice_.spec.devices or ())
    return reaches(slice_.spec, node)


def sound_pools(
    slices: Iterable[ResourceSlice], node: NodeView, *, partitionable: bool
) -> dict[PoolKey, list[ResourceSlice]]:
    """The slices of each pool that the node may be served from, those for other nodes included."""
    by_pool: dict[PoolKey, list[ResourceSlice]] = defaultdict(list)
    for slice_ in slices:
        by_pool[slice_.spec.driver, slice_.spec.pool.name].append(slice_)
    sound = {}
    for key, pool in by_pool.items():
        whole = _whole(pool, node, partitionable=partitionable)
        if whole and not _is_broken(whole, node, partitionable=partitionable):
            sound[key] = whole
    return sound


def _whole(
    pool: list[ResourceSlice], node: NodeView, *, partitionable: bool
) -> list[ResourceSlice]:
    usable = [
        one
        for one in pool
        if partitionable
        or (one.spec.per_device_node_selection is None and not one.spec.shared_counters)
    ]
    seen = [one for one in usable if sees(one, node)]
    if not seen:
        return []
    newest = max(one.spec.pool.generation for one in seen)
    seen = [one for one in seen if one.spec.pool.generation == newest]
    count = seen[0].spec.pool.resource_slice_count
    if len(seen) == count:
        return seen
    same = [one for one in pool if one.spec.pool.generation == newest]
    newer = any(one.spec.pool.generation > newest for one in pool)
    return same if len(same) == count and not newer else []


def _is_broken(whole: list[ResourceSlice], node: NodeView, *, partitionable: bool) -> bool:
    seen = [one for one in whole if sees(one, node)]
    names = Counter(device.name for one in seen for device in one.spec.devices or ())
    if any(count > 1 for count in names.values()):
        return True
    if not partitionable:
        return False
    sets = [shared for one in whole for shared in one.spec.shared_counters or ()]
    known = {(shared.name, name) for shared in sets for name in shared.counters}
    wanted = {
        (one.counter_set, name)
        for slice_ in whole
        for device in slice_.spec.devices or ()
        for one in device.consumes_counters or ()
        for name in one.counters
    }
    return len({shared.name for shared in sets}) != len(sets) or not wanted <= known


def taken(capacity: DeviceCapacity, wanted: Fraction | None, *, milli: bool) -> Fraction | None:
    """What a request takes of a capacity; None where the policy or the size forbids it."""
    policy = capacity.request_policy or CapacityRequestPolicy()
    default = None if policy.default is None else number(policy.default)
    if wanted is None:
        amount = number(capacity.value) if default is None else default
    else:
        amount = _rounded(policy, wanted, milli=milli)
    if amount > number(capacity.value):
        return None
    allowed = amount == default or _is_allowed(policy, amount, milli=milli)
    return amount if allowed else None


def _rounded(policy: CapacityRequestPolicy, wanted: Fraction, *, milli: bool) -> Fraction:
    if policy.valid_range is not None:
        return _rounded_in_range(policy.valid_range, wanted, milli=milli)
    larger = [number(text) for text in policy.valid_values or () if number(text) >= wanted]
    return min(larger, default=wanted)


def _rounded_in_range(bounds: CapacityRange, wanted: Fraction, *, milli: bool) -> Fraction:
    least = number(bounds.min or "0")
    if wanted < least:
        return least
    if bounds.step is None:
        return wanted
    amount = _ceil(least, milli=milli)
    target, step = _ceil(wanted, milli=milli), _ceil(number(bounds.step), milli=milli)
    return amount + -((amount - target) // step) * step


def _is_allowed(policy: CapacityRequestPolicy, amount: Fraction, *, milli: bool) -> bool:
    if policy.valid_range is not None:
        bounds = policy.valid_range
        if bounds.max is not None and amount > number(bounds.max):
            return False
        if bounds.step is None:
            return True
        steps = _ceil(amount, milli=milli) - _ceil(number(bounds.min or "0"), milli=milli)
        return steps % _ceil(number(bounds.step), milli=milli) == 0
    return not policy.valid_values or amount in {number(text) for text in policy.valid_values}


def _ceil(amount: Fraction, *, milli: bool) -> Fraction:
    unit = Fraction(1, 1000) if milli else Fraction(1)
    return -(-amount // unit) * unit
