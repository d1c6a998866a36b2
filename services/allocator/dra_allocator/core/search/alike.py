"""Which devices of a pool have the same value of an attribute, as masks.

The answer depends on the pool alone and is kept with it, as candidates are.
"""

from typing import Final

from dra_allocator.core.search.attributes import (
    UNREADABLE,
    Alike,
    Values,
    find_attribute,
    values_of,
)
from dra_allocator.core.search.pools import Pool

MOST_ATTRIBUTES: Final = 16
"""Attributes whose values a pool remembers; beyond that the oldest is forgotten."""


def alike_in(pool: Pool, attribute: str) -> Alike:
    """Give the pool's devices by their value of the attribute; those without it are in no mask."""
    known = pool.alike.get(attribute)
    if known is None:
        if len(pool.alike) >= MOST_ATTRIBUTES:
            del pool.alike[next(iter(pool.alike))]
        known = pool.alike[attribute] = _work_out(pool, attribute)
    return known


def _work_out(pool: Pool, attribute: str) -> Alike:
    masks: dict[Values, int] = {}
    for place, device in enumerate(pool.devices):
        found = find_attribute(device.device, device.id.driver, attribute)
        if found is not None:
            values = values_of(found, lists=False)
            masks[values] = masks.get(values, 0) | 1 << place
    odd = masks.pop(UNREADABLE, 0)
    return Alike(tuple(masks.values()), odd)
