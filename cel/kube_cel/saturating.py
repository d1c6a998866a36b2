"""Arithmetic of estimates: 64 bits without sign, stopping at the largest number."""

import math
from typing import Final

UNKNOWN: Final = 2**64 - 1
"""The largest number, which also stands for a size or cost that nobody knows."""
WRAP: Final = 2**64
"""Where Go's own arithmetic starts again from 0: some sizes are worked out without a check."""
_TOO_LARGE: Final = 2.0**64


def added(*terms: int) -> int:
    """The sum, at most ``UNKNOWN``."""
    return min(UNKNOWN, sum(terms))


def multiplied(a: int, b: int) -> int:
    """The product, at most ``UNKNOWN``."""
    return min(UNKNOWN, a * b)


def scaled(size: int, factor: float) -> int:
    """The size times a factor in doubles, rounded up."""
    product = float(size) * factor
    return UNKNOWN if product >= _TOO_LARGE else math.ceil(product)
