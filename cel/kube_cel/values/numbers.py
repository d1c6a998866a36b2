"""The 64-bit integers of CEL: range checks, and the unsigned kind that Python lacks."""

from typing import Final

from kube_cel.errors import EvaluationError

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class Uint(int):
    """An unsigned integer of 64 bits."""

    __slots__ = ()


def checked_int(value: int) -> int:
    """The value, if it fits a signed integer of 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def checked_uint(value: int) -> Uint:
    """The value, if it fits an unsigned integer of 64 bits."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")
