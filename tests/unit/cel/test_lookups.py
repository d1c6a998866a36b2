"""What a chain of fields and indexes finds, and what absorbs the error if it finds nothing."""

import pytest
from unit.cel.devices import a_device, error_of, value_of

from kube_cel import NoSuchKeyError, NoSuchOverloadError

A = 'device.attributes["gpu.example.com"]'


def test_an_unknown_domain_reads_as_an_empty_map() -> None:
    assert value_of('device.attributes["nobody.io"].size()') == 0


def test_an_unknown_domain_is_not_in_the_map_for_all_that() -> None:
    assert value_of('"nobody.io" in device.attributes') is False
    assert value_of("has(device.attributes.nobody)") is True


def test_an_optional_look_up_of_an_unknown_domain_has_a_value() -> None:
    assert value_of('device.attributes[?"nobody.io"].hasValue()') is True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"has({A}.model)", True),
        (f"has({A}.serial)", False),
        (f'"model" in {A}', True),
        (f'{A}.?serial.orValue("none")', "none"),
        (f"{A}.?index.orValue(0)", 3),
        (f'{A}["index"]', 3),
        (f"{A}.`index`", 3),
        (f"{A}.?serial.hasValue()", False),
        (f'{A}[?"serial"].or(optional.of("x")).value()', "x"),
        (f"{A}.?model.optMap(m, m + m).value()", "H100H100"),
        (f"{A}.?serial.optMap(m, m + m).hasValue()", False),
        ('{"a": {"b": 1}}.?a.?b.value()', 1),
        ('{"a": {"b": 1}}.?z.b.hasValue()', False),
        ("[1, 2][?5].hasValue()", False),
        ("dyn([10, 20])[1.0]", 20),
    ],
)
def test_a_look_up_finds(text: str, value: object) -> None:
    assert value_of(text) == value


def test_an_unknown_attribute_is_an_error() -> None:
    assert isinstance(error_of(f'{A}.serial == "x"'), NoSuchKeyError)


@pytest.mark.parametrize(
    "text",
    [
        f"{A}.serial == 1 || true",
        f"true || {A}.serial == 1",
        f"!({A}.serial == 1 && false)",
        f"!(false && {A}.serial == 1)",
        "[0, 2].exists(i, 2 / i == 1)",
        "![0, 2].all(i, 2 / i == 2)",
    ],
)
def test_an_error_beside_what_decides_is_absorbed(text: str) -> None:
    assert value_of(text) is True


@pytest.mark.parametrize("text", [f"{A}.serial == 1 || false", "[0, 1].all(i, 1 / i == 1)"])
def test_an_error_beside_what_does_not_decide_is_an_error(text: str) -> None:
    assert error_of(text) is not None


def test_values_of_two_types_are_unequal_and_have_no_order() -> None:
    assert value_of(f'{A}.index == "3"') is False
    assert isinstance(error_of(f'{A}.index < "3"'), NoSuchOverloadError)


def test_numbers_of_all_kinds_compare_by_value() -> None:
    assert value_of(f"{A}.index == 3.0 && {A}.index == 3u && {A}.index < 3.5") is True


def test_true_is_not_one() -> None:
    assert value_of(f"{A}.healthy == 1") is False
    assert value_of("dyn(true) in [1]") is False


def test_a_version_is_equal_to_versions_only() -> None:
    assert value_of(f'{A}.driverVersion == semver("550.54.15+build")') is True
    assert isinstance(error_of(f'{A}.driverVersion == "550.54.15"'), NoSuchOverloadError)


def test_an_attribute_with_a_nul_is_not_cut_short() -> None:
    device = a_device(attributes={"name": {"string": "a\0b"}}, capacity={})
    assert value_of(f'{A}.name == "a"', device) is False


def test_a_name_for_a_value_is_only_worked_out_when_it_is_read() -> None:
    assert value_of("cel.bind(x, 1 / 0, true)") is True
    assert error_of("cel.bind(x, 1 / 0, x == 1)") is not None


def test_a_list_attribute_can_be_gone_through() -> None:
    assert value_of(f"{A}.numa.exists(n, n == 1) && {A}.numa.includes(0)") is True
    assert value_of(f'{A}.model.includes("H100")') is True
