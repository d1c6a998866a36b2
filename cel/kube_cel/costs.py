"""
What calls cost at run time and at most: the formulas that several functions share.

A run-time cost takes the arguments, an estimate the call site.
Formulas that only one function has stand beside that function in ``library``.
"""

import math
from typing import Final

from kube_cel.declarations import CallSite, Estimate, Size
from kube_cel.saturating import added, multiplied, scaled
from kube_cel.values.equality import size

TRAVERSAL: Final = 0.1
"""Cost of one character or byte that is looked at."""
PATTERN: Final = 0.25
"""Cost of one character of a pattern, for each time it is tried."""


def tenth(units: int) -> int:
    """The cost of looking at this many characters."""
    return math.ceil(units * TRAVERSAL)


def one(*_args: object) -> int:
    """Nothing that grows."""
    return 1


def first_traversed(first: object, *_rest: object) -> int:
    """A look at every character of the first argument."""
    return tenth(size(first))


def first_rebuilt(first: object, *_rest: object) -> int:
    """A look at every character of the first argument, and a copy."""
    return math.ceil(size(first) * 2 * TRAVERSAL)


def second_traversed(_first: object, second: object) -> int:
    """A look at every character of the second argument."""
    return tenth(size(second))


def searched(text: object, pattern: object, *_rest: object) -> int:
    """A pattern tried along a text."""
    return math.ceil((1.0 + size(text)) * TRAVERSAL) * math.ceil(size(pattern) * PATTERN)


def estimate_one(_site: CallSite) -> tuple[int, Size | None]:
    """Nothing that grows."""
    return 1, None


def estimate_traversal(
    position: int = 0, factor: float = TRAVERSAL, *, keeps_size: bool = False
) -> Estimate:
    """A look at every character of an argument, whose size the result may keep."""

    def estimate(site: CallSite) -> tuple[int, Size | None]:
        argument = site.size(position)
        return scaled(argument.high, factor), argument if keeps_size else None

    return estimate


def estimate_search(site: CallSite) -> tuple[int, Size | None]:
    """A pattern tried along a text."""
    text = scaled(added(site.size(0).high, 1), TRAVERSAL)
    return multiplied(text, scaled(site.size(1).high, PATTERN)), None


def estimate_smaller(site: CallSite) -> tuple[int, Size | None]:
    """A look at both until the shorter ends."""
    return scaled(min(site.size(0).high, site.size(1).high), TRAVERSAL), None
