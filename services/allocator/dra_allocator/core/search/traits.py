"""What can be said of a pool's devices whatever is asked for and whatever is in use."""

from bisect import bisect_right

import msgspec

from dra_allocator.core.search.devices import CounterName


class Draw(msgspec.Struct, frozen=True, gc=False):
    """What devices draw from one counter, in nano units.

    `devices[i]`: those that draw `amounts[i]` or more, as a mask; one more at the end is nobody.
    """

    counter: CounterName
    amounts: tuple[int, ...]
    devices: tuple[int, ...]

    def short(self, remaining: int) -> int:
        """The devices that draw more than so much."""
        return self.devices[bisect_right(self.amounts, remaining)]


class Traits(msgspec.Struct, frozen=True, gc=False):
    """Devices by what they are like, as masks over the pool's devices.

    `plain`: a result on such a device says no more than which it is. `whole`: plain, and only being
    in use keeps a request from it. `shareable`: several claims may have it. `draws`: what is drawn
    from each counter, by the devices in `drawing`. `intricate`: only a trial tells whether one can
    be had.
    """

    plain: int
    whole: int
    shareable: int
    drawing: int
    draws: tuple[Draw, ...]
    intricate: int
