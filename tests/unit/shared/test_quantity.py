"""Quantities are exact, compare by value and print as Kubernetes prints them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_shared.quantity import (
    MAX_BINARY,
    NANOS,
    Format,
    Quantity,
    QuantityError,
    parse_quantity,
)

AMOUNTS = st.integers(min_value=-(10**40), max_value=10**40)
QUANTITIES = st.builds(Quantity, AMOUNTS, st.sampled_from(Format))
BINARY_LIMIT = MAX_BINARY // NANOS


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0),
        ("2", 2 * NANOS),
        ("-3", -3 * NANOS),
        ("+3", 3 * NANOS),
        ("1500m", 3 * NANOS // 2),
        ("1.5", 3 * NANOS // 2),
        (".5", NANOS // 2),
        ("5.", 5 * NANOS),
        ("7k", 7000 * NANOS),
        ("1Ki", 1024 * NANOS),
        ("0.5Ki", 512 * NANOS),
        ("3E", 3 * 10**18 * NANOS),
        ("2e3", 2000 * NANOS),
        ("2E-3", NANOS // 500),
        ("12u", 12_000),
        ("007", 7 * NANOS),
    ],
)
def test_text_has_its_exact_value(text: str, nanos: int) -> None:
    assert parse_quantity(text).nanos == nanos


@pytest.mark.parametrize(
    "text", ["", "x", "1 Gi", " 1", "1.2.3", "1Gib", "1ki", "--1", "1e", "1+5", "1e9999999", "٣"]
)
def test_text_that_is_no_quantity_is_refused_by_name(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a Kubernetes quantity"):
        parse_quantity(text)


def test_numbers_too_long_to_be_a_capacity_are_refused() -> None:
    with pytest.raises(QuantityError):
        parse_quantity("9" * 5000)


@pytest.mark.parametrize("text", ["0.1n", "1e-400", "0.0000000001"])
def test_less_than_a_nano_unit_rounds_away_from_zero(text: str) -> None:
    assert parse_quantity(text).nanos == 1
    assert parse_quantity(f"-{text}").nanos == -1


def test_binary_amounts_are_capped_where_kubernetes_caps_them() -> None:
    assert parse_quantity("9Ei").nanos == MAX_BINARY
    assert parse_quantity("9E").nanos == 9 * 10**18 * NANOS
    assert parse_quantity("20E").nanos == 20 * 10**18 * NANOS


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1024Ki", "1Mi"),
        ("1000Ki", "1000Ki"),
        ("1536Mi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1.5Gi", "1536Mi"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.0001Ki", "102400u"),
        ("1000", "1k"),
        ("1010", "1010"),
        ("1e4", "10e3"),
        ("100e-1", "10"),
        ("5e-1", "500e-3"),
        ("0Ki", "0"),
        ("-2048Ki", "-2Mi"),
        ("1000E", "1000E"),
        ("1e21", "1e21"),
    ],
)
def test_printing_is_canonical(text: str, printed: str) -> None:
    assert str(parse_quantity(text)) == printed


@given(AMOUNTS, st.sampled_from([Format.DECIMAL, Format.EXPONENT]))
def test_what_is_printed_reads_back_as_the_same_value(nanos: int, form: Format) -> None:
    assert parse_quantity(str(Quantity(nanos, form))).nanos == nanos


@given(st.integers(min_value=-BINARY_LIMIT, max_value=BINARY_LIMIT))
def test_binary_amounts_read_back_up_to_their_cap(number: int) -> None:
    assert parse_quantity(str(Quantity.of(number, Format.BINARY))) == Quantity.of(number)


@given(QUANTITIES, QUANTITIES, QUANTITIES)
def test_sums_are_exact(a: Quantity, b: Quantity, c: Quantity) -> None:
    assert (a + b).nanos == a.nanos + b.nanos
    assert a + b - b == a
    assert a + b + c == c + b + a
    assert not a + -a


@given(QUANTITIES, QUANTITIES)
def test_order_and_equality_are_by_value_alone(a: Quantity, b: Quantity) -> None:
    assert (a < b) == (a.nanos < b.nanos)
    assert (a == b) == (a.nanos == b.nanos)
    assert hash(Quantity(a.nanos, Format.BINARY)) == hash(Quantity(a.nanos, Format.DECIMAL))


def test_a_sum_keeps_the_format_of_its_first_amount_unless_that_is_zero() -> None:
    gibibyte = parse_quantity("1Gi")
    assert str(gibibyte + parse_quantity("0")) == "1Gi"
    assert str(parse_quantity("0") + gibibyte) == "1Gi"


@given(AMOUNTS)
def test_rounding_goes_away_from_zero(nanos: int) -> None:
    quantity = Quantity(nanos)
    assert abs(quantity.whole * NANOS) >= abs(nanos)
    assert abs(quantity.whole * NANOS) - abs(nanos) < NANOS
    assert abs(quantity.millis) * (NANOS // 1000) >= abs(nanos)
    assert quantity.is_whole == (quantity.whole * NANOS == nanos)


@given(st.text(alphabet="0123456789+-.eEinumkKMGTP", max_size=12))
def test_any_text_gives_a_quantity_or_a_named_error(text: str) -> None:
    with suppress(QuantityError):
        assert str(parse_quantity(text))
