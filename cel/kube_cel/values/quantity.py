"""
Kubernetes quantities: decimal numbers with suffixes, exact at any size.

Like the Go type, a quantity is held either as a 64-bit number with a power of ten, or as
an arbitrary decimal: whether ``isInteger`` says yes depends on that, not on the number.
"""

import re
from typing import Final

from kube_cel.errors import EvaluationError
from kube_cel.values.numbers import INT_MAX, INT_MIN

_TEXT: Final = re.compile(r"[+-]?([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)\Z")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]{1,30})\Z")
_EXA: Final = 18
_NANO: Final = -9
_MAX_SCALE: Final = 10_000
"""Go takes any 32-bit power of ten and works on it for ever; a real quantity is far below."""
_MAX_POWER: Final = 308
_STEP: Final = 32


class Quantity:
    """
    ``value * 10**scale``, which is ``amount`` billionths: no quantity has a finer part.

    ``small`` tells the 64-bit form, ``derived`` a result of add or sub.
    """

    __slots__ = ("amount", "derived", "scale", "small", "value")

    def __init__(
        self, value: int, scale: int = 0, *, small: bool = True, derived: bool = False
    ) -> None:
        self.value = value
        self.scale = scale
        self.amount = value * 10 ** (scale - _NANO) if value else 0
        self.small = small
        self.derived = derived

    def __eq__(self, other: object) -> bool:
        """Whether the two are held alike; CEL's ``==`` is by the number alone."""
        return isinstance(other, Quantity) and self._form() == other._form()

    def __hash__(self) -> int:
        return hash(self._form())

    def _form(self) -> tuple[int, int, bool, bool]:
        return self.value, self.scale, self.small, self.derived

    def as_integer(self) -> int | None:
        """The number as a 64-bit integer, None if this form cannot give it."""
        if not self.small or self.scale < 0:
            return None
        return _scaled_up(self.value, self.scale)

    def as_float(self) -> float:
        """The nearest Go would say: base times power, rounded twice."""
        base = float(self.value)
        return base if self.scale == 0 else base * _power_of_ten(self.scale)

    def compare(self, other: "Quantity") -> int:
        """-1, 0 or 1, exactly."""
        return (self.amount > other.amount) - (self.amount < other.amount)

    def plus(self, other: "Quantity", sign: int = 1) -> "Quantity":
        """The sum, or with sign -1 the difference."""
        if self.small and other.small:
            total = self._small_sum(other, sign)
            if total is not None:
                return total
        low = min(self.scale, other.scale)
        mine = self.value * 10 ** (self.scale - low)
        theirs = other.value * 10 ** (other.scale - low)
        return Quantity(mine + sign * theirs, low, small=False, derived=True)

    def _small_sum(self, other: "Quantity", sign: int) -> "Quantity | None":
        addend = sign * other.value
        if addend > INT_MAX:
            addend = INT_MIN  # in 64 bits the smallest number is its own opposite
        if addend == 0:
            return Quantity(self.value, self.scale, derived=True)
        if self.value == 0:
            return Quantity(addend, other.scale, derived=True)
        low = min(self.scale, other.scale)
        mine = _scaled_up(self.value, self.scale - low)
        theirs = _scaled_up(addend, other.scale - low)
        if mine is None or theirs is None or not INT_MIN <= mine + theirs <= INT_MAX:
            return None
        return Quantity(mine + theirs, low, derived=True)


def parse_quantity(text: str) -> Quantity:
    """The quantity that the text says. Raises ``EvaluationError`` for any other text."""
    found = _TEXT.match(text) if text else None
    if found is None:
        raise EvaluationError("quantities must match the regular expression")
    whole, fraction, suffix = found[1].lstrip("0") or "0", found[2] or "", found[3]
    negative = text[0] == "-"
    if suffix in _BINARY:
        return _binary(whole, fraction, _BINARY[suffix], negative=negative)
    exponent = _decimal_exponent(suffix)
    scale = exponent - len(fraction)
    if len(whole) + len(fraction) <= _EXA and scale >= _NANO:
        value = int(whole + fraction)
        return Quantity(-value if negative else value, scale)
    _require_digits(found)
    return _large(int(whole + fraction), scale, negative=negative)


def _require_digits(found: re.Match[str]) -> None:
    if not found[1] and not found[2]:
        raise EvaluationError("unable to parse numeric part of quantity")


def _binary(whole: str, fraction: str, exponent: int, *, negative: bool) -> Quantity:
    precision = 15 - len(whole) - exponent * 3 // 10 - 1
    value = int(whole + fraction) << exponent
    if not fraction and precision >= 0:
        return Quantity(-value if negative else value)
    amount = _large(value, -len(fraction), negative=negative)
    limit = Quantity(-INT_MAX if negative else INT_MAX, small=False)
    over = amount.compare(limit)
    return limit if over == (-1 if negative else 1) else amount


def _large(value: int, scale: int, *, negative: bool) -> Quantity:
    if value == 0:
        return Quantity(0, scale, small=False)
    if scale >= _NANO:
        value *= 10 ** (scale - _NANO)
    else:
        value = -(-value // 10 ** (_NANO - scale))
    return Quantity(-value if negative else value, _NANO, small=False)


def _decimal_exponent(suffix: str) -> int:
    if suffix == "E":
        return _EXA
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    found = _EXPONENT.match(suffix)
    if found is None or not INT_MIN <= int(found[1]) <= INT_MAX:
        raise EvaluationError("unable to parse quantity's suffix")
    exponent = (int(found[1]) + 2**31) % 2**32 - 2**31
    if abs(exponent) > _MAX_SCALE:
        raise EvaluationError(f"quantity exponent is beyond {_MAX_SCALE}")
    return exponent


def _scaled_up(value: int, scale: int) -> int | None:
    if scale > _EXA:
        return None
    scaled = value * 10**scale
    return scaled if INT_MIN <= scaled <= INT_MAX else None


def _power_of_ten(exponent: int) -> float:
    if exponent > _MAX_POWER:
        return float("inf")
    if exponent >= 0:
        return float(f"1e{exponent // _STEP * _STEP}") * float(f"1e{exponent % _STEP}")
    down = -exponent
    return float(f"1e-{down // _STEP * _STEP}") / float(f"1e{down % _STEP}")
