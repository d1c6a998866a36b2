"""What can be said of a pool's devices whatever is asked for and whatever is in use."""

import msgspec

from dra_allocator.core.search.devices import CounterName

Draw = tuple[tuple[CounterName, int], ...]
"""What a device draws from each counter, in nano units."""


class Traits(msgspec.Struct, frozen=True, gc=False):
    """Devices by what they are like, as masks over the pool's devices.

    `plain`: a result on such a device says no more than which it is. `whole`: plain, and only being
    in use keeps a request from it. `shareable`: several claims may have it. `draws`: devices that
    draw from counters, by what they draw. `intricate`: only a trial tells whether one can be had.
    """

    plain: int
    whole: int
    shareable: int
    draws: tuple[tuple[Draw, int], ...]
    intricate: int
