"""The devices of a pool with the smallest first, so that large ones are left for who needs them."""

from collections.abc import Iterable
from typing import Final

import msgspec

from dra_allocator.core.search.devices import PoolDevice
from dra_allocator.core.search.pools import Pool
from dra_shared.quantity import parse_quantity

PARTS: Final = 10**6
"""A size is counted in millionths of the largest of its kind in the pool."""


def smallest_first(pool: Pool) -> Pool:
    """The pool with its devices in order of size; equal ones stay in their driver's order.

    The size is the sum of all capacities and counters, each as a part of the largest in the pool.
    The same object if nothing moves.
    """
    amounts = [dict(_amounts(device)) for device in pool.devices]
    largest: dict[str, int] = {}
    for one in amounts:
        for name, amount in one.items():
            largest[name] = max(largest.get(name, 1), amount)
    sizes = [sum(a * PARTS // largest[name] for name, a in one.items()) for one in amounts]
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    if order == list(range(len(sizes))):
        return pool
    devices = tuple(pool.devices[place] for place in order)
    return msgspec.structs.replace(
        pool,
        devices=devices,
        here=_moved(pool.here, order),
        unfit=_moved(pool.unfit, order),
        index={device.id.device: place for place, device in enumerate(devices)},
        candidates={},
        alike={},
        traits=None,
    )


def _amounts(device: PoolDevice) -> Iterable[tuple[str, int]]:
    for name, capacity in (device.device.capacity or {}).items():
        yield f"capacity {name}", parse_quantity(capacity.value).nanos
    for counter, amount in device.counters.items():
        yield f"counter {counter}", amount


def _moved(mask: int, order: list[int]) -> int:
    return sum((mask >> old & 1) << new for new, old in enumerate(order))
