"""How values are written as text where Go and Python differ."""

import math


def double_text(value: float) -> str:
    """The shortest text that reads back as the same double, as Go's ``%g`` writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    digits, exponent = shortest_digits(abs(value))
    if exponent < -4 or exponent >= 6:  # noqa: PLR2004 - where Go changes to exponents
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + plain(digits, exponent)


def shortest_digits(value: float) -> tuple[str, int]:
    """The shortest digits d and the e for which d[0].d[1:] times 10^e is the value."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = whole + fraction
    stripped = digits.lstrip("0")
    power = len(whole) - 1 - (len(digits) - len(stripped)) + int(exponent or "0")
    return (stripped.rstrip("0") or "0"), power if stripped else 0


def plain(digits: str, exponent: int) -> str:
    """The digits with a point in the right place and no exponent."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
