"""How much of a device's capacities a request consumes (KEP-5075), exactly.

Works on nano units, as `dra_shared.quantity` keeps them. What is left of a device is the
business of `trial`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from dra_shared.kube.devices import CapacityRange, CapacityRequestPolicy, DeviceCapacity
from dra_shared.quantity import NANOS, Quantity, parse_quantity, round_up

MILLI: Final = NANOS // 1000
MAX_INT64: Final = 2**63 - 1
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


class CapacityError(Exception):
    """A capacity request means nothing on this device; whoever wrote the claim must change it."""


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds and step of a capacity request."""

    least: Quantity
    most: Quantity | None = None
    step: Quantity | None = None

    def unit(self, *, fractional: bool) -> int:
        """Say in which unit rounding works: thousandths if the gate is on and all bounds fit."""
        bounds = [one.nanos for one in (self.least, self.most, self.step) if one is not None]
        fine = all(nanos % MILLI == 0 and nanos // MILLI <= MAX_INT64 for nanos in bounds)
        return MILLI if fractional and fine else NANOS


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """One capacity of a device: how much there is and how parts of it are asked for."""

    value: Quantity
    default: Quantity | None = None
    values: tuple[Quantity, ...] = ()
    range: Range | None = None
    fractional: bool = False

    def consumed_by(self, wanted: Quantity | None) -> Quantity:
        """Give what a request for `wanted` (None: not mentioned) consumes, rounded by the policy.

        Raises CapacityError where rounding is impossible.
        """
        amount = self._unmentioned() if wanted is None else self._round(wanted)
        if amount.nanos < 0:
            raise CapacityError(f"{amount} is negative")
        return amount

    def allows(self, amount: Quantity) -> bool:
        """Say whether the policy allows to consume this much, however much is left."""
        if amount.nanos > self.value.nanos:
            return False
        if self.default is not None and amount == self.default:
            return True
        if self.range is not None:
            return self._in_range(self.range, amount)
        return not self.values or amount in self.values

    def _unmentioned(self) -> Quantity:
        return self.value if self.default is None else self.default

    def _round(self, wanted: Quantity) -> Quantity:
        if self.range is not None:
            return self._round_in_range(self.range, wanted)
        return next((value for value in self.values if wanted <= value), wanted)

    def _round_in_range(self, bounds: Range, wanted: Quantity) -> Quantity:
        if wanted < bounds.least:
            return bounds.least
        if bounds.step is None:
            return wanted
        unit = bounds.unit(fractional=self.fractional)
        if unit == MILLI and wanted.nanos % MILLI:
            raise CapacityError(f"{wanted} is finer than the thousandths that steps are counted in")
        number, start, step = (
            round_up(one.nanos, unit) for one in (wanted, bounds.least, bounds.step)
        )
        rounded = start + -((start - number) // step) * step
        if max(number, rounded) > MAX_INT64:
            raise CapacityError(f"{wanted} is more than can be counted in steps")
        return Quantity(rounded * unit, bounds.step.format)

    def _in_range(self, bounds: Range, amount: Quantity) -> bool:
        if bounds.most is not None and amount > bounds.most:
            return False
        if bounds.step is None:
            return True
        unit = bounds.unit(fractional=self.fractional)
        number, start, step = (
            round_up(one.nanos, unit) for one in (amount, bounds.least, bounds.step)
        )
        return (number - start) % step == 0


def read_capacity(capacity: DeviceCapacity, *, fractional: bool) -> Capacity:
    """Give a device's capacity with its numbers read. Raises QuantityError."""
    policy = capacity.request_policy or CapacityRequestPolicy()
    return Capacity(
        value=parse_quantity(capacity.value),
        default=None if policy.default is None else parse_quantity(policy.default),
        values=tuple(parse_quantity(value) for value in policy.valid_values or ()),
        range=None if policy.valid_range is None else _read_range(policy.valid_range),
        fractional=fractional,
    )


def consumption(
    capacities: Mapping[str, Capacity], wanted: Mapping[str, Quantity]
) -> dict[str, Quantity] | None:
    """Give what a request consumes of every capacity of a device; None if it can never fit.

    Raises CapacityError where a request cannot be rounded, whatever the other capacities say.
    """
    if not wanted.keys() <= capacities.keys():
        return None
    consumed: dict[str, Quantity] = {}
    fits = True
    for name, capacity in capacities.items():
        try:
            amount = consumed[name] = capacity.consumed_by(wanted.get(name))
        except CapacityError as error:
            raise CapacityError(f"capacity {name}: {error}") from None
        fits = fits and capacity.allows(amount)
    return consumed if fits else None


def lacking(
    capacities: Mapping[str, Capacity],
    consumed: Mapping[str, Quantity],
    held: Mapping[str, int],
    taken: Mapping[str, int] = _NOTHING,
) -> list[str]:
    """Give the capacities of which too little is left for this share: `held` and `taken` in nanos."""
    return [
        name
        for name, amount in consumed.items()
        if held.get(name, 0) + taken.get(name, 0) + amount.nanos > capacities[name].value.nanos
    ]


def _read_range(bounds: CapacityRange) -> Range:
    step = None if bounds.step is None else parse_quantity(bounds.step)
    return Range(
        least=parse_quantity(bounds.min or "0"),
        most=None if bounds.max is None else parse_quantity(bounds.max),
        step=step if step and step.nanos > 0 else None,
    )
