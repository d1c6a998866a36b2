"""Kubernetes quantities ("80Gi", "1500m", "2e3") as exact numbers.

Every part that compares or sums capacities uses this, so that a number means the same everywhere.
A quantity is a whole count of nano units, which is what apimachinery rounds to when it parses.
Arithmetic is exact and unbounded. What a capacity or a counter means stays with its user.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final, Self

NANOS: Final = 10**9
"""Nano units in one."""

MAX_BINARY: Final = (2**63 - 1) * NANOS
"""Binary quantities are capped here when they are parsed, as apimachinery does."""

MAX_DIGITS: Final = 1000
"""Longer numbers and larger exponents are refused: they would be an attack, not a capacity."""


class Format(StrEnum):
    """How a quantity is printed: which suffixes it uses."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """The text is not a quantity; whoever wrote it must correct it."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text[:64]!r} is not a Kubernetes quantity, such as 2, 1500m, 80Gi or 1e3"
        )
        self.text = text


_NUMBER: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL_SUFFIXES: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_SUFFIXES: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_NAMES: Final = {power: name for name, power in _DECIMAL_SUFFIXES.items()}
_BINARY_NAMES: Final = ("", *_BINARY_SUFFIXES)


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount. Equal, ordered and hashed by value alone; `format` only says how to print."""

    nanos: int
    format: Format = field(default=Format.DECIMAL, compare=False)

    @classmethod
    def of(cls, number: int, form: Format = Format.DECIMAL) -> Self:
        """Give the quantity of a whole number."""
        return cls(number * NANOS, form)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, self._format_with(other))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, self._format_with(other))

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nanos, self.format)

    def __bool__(self) -> bool:
        return self.nanos != 0

    @property
    def whole(self) -> int:
        """The value rounded away from zero to a whole number, as apimachinery's `Value`."""
        return round_up(self.nanos, NANOS)

    @property
    def millis(self) -> int:
        """The value in thousandths, rounded away from zero, as apimachinery's `MilliValue`."""
        return round_up(self.nanos, NANOS // 1000)

    @property
    def is_whole(self) -> bool:
        """Whether there is no fraction."""
        return self.nanos % NANOS == 0

    def __str__(self) -> str:
        """Print the canonical form: no fraction, the largest suffix, no precision lost.

        As apimachinery's `CanonicalizeBytes`, except that amounts past the largest suffix keep
        their zeros (`1000E`): upstream drops the exponent there and prints `1`.
        """
        if self.nanos == 0:
            return "0"
        if self.format is Format.BINARY and self.is_whole and abs(self.nanos) >= 1024 * NANOS:
            return _print_binary(self.nanos // NANOS)
        return _print_decimal(self.nanos, exponent=self.format is Format.EXPONENT)

    def _format_with(self, other: "Quantity") -> Format:
        """Keep our format in a sum, unless we are zero (apimachinery's `Add`)."""
        return self.format if self.nanos else other.format


@lru_cache(maxsize=16384)
def parse_quantity(text: str) -> Quantity:
    """Give the exact value of a quantity as Kubernetes writes it.

    Finer than a nano unit is rounded away from zero, binary amounts are capped at 2^63-1
    (apimachinery `ParseQuantity`). Raises QuantityError.
    """
    parts = _NUMBER.fullmatch(text) if text and len(text) <= MAX_DIGITS else None
    if parts is None:
        raise QuantityError(text)
    sign, whole, fraction, suffix = parts.groups(default="")
    magnitude = int(f"0{whole}{fraction}")
    if suffix in _BINARY_SUFFIXES:
        nanos = _scale(magnitude * 1024 ** _BINARY_SUFFIXES[suffix], 9 - len(fraction))
        nanos = min(nanos, MAX_BINARY)
        form = Format.DECIMAL if 0 < nanos < NANOS else Format.BINARY
    else:
        power, form = _decimal_power(suffix, text)
        nanos = _scale(magnitude, power + 9 - len(fraction))
    return Quantity(-nanos if sign == "-" else nanos, form)


def round_up(number: int, unit: int) -> int:
    """Give how many units the number fills, rounded away from zero."""
    return -(-number // unit) if number >= 0 else number // unit


def _decimal_power(suffix: str, text: str) -> tuple[int, Format]:
    """Give the power of ten of a suffix, and the format it asks for."""
    if suffix in _DECIMAL_SUFFIXES:
        return _DECIMAL_SUFFIXES[suffix], Format.DECIMAL
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None:
        raise QuantityError(text)
    power = int(exponent[1])
    if power > MAX_DIGITS:
        raise QuantityError(text)
    return power, Format.EXPONENT


def _scale(magnitude: int, power: int) -> int:
    """Give magnitude x 10^power, rounded up to a whole number; magnitude is not negative."""
    if power >= 0:
        return magnitude * int(10**power)
    unit: int = 10 ** min(-power, 2 * MAX_DIGITS)
    return round_up(magnitude, unit)


def _print_binary(number: int) -> str:
    power = 0
    while number % 1024 == 0 and power < len(_BINARY_NAMES) - 1:
        number //= 1024
        power += 1
    return f"{number}{_BINARY_NAMES[power]}"


def _print_decimal(nanos: int, *, exponent: bool) -> str:
    power = -9
    while nanos % 1000 == 0 and (exponent or power < max(_DECIMAL_NAMES)):
        nanos //= 1000
        power += 3
    if not exponent:
        return f"{nanos}{_DECIMAL_NAMES[power]}"
    return f"{nanos}e{power}" if power else str(nanos)
