"""What a program reads, and that it decides by nothing else."""

import pytest
from unit.cel.devices import STORED, a_device

A = 'device.attributes["gpu.example.com"]'
C = 'device.capacity["gpu.example.com"]'


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("true", set()),
        ('device.driver == "x"', {("driver",)}),
        ("device.allowMultipleAllocations", {("multi",)}),
        (f'{A}.model == "x"', {("attr", "gpu.example.com", "model")}),
        ('device.attributes.a.b == "x"', {("attr", "a", "b")}),
        (f"has({A}.model)", {("attr", "gpu.example.com", "model")}),
        (f'"model" in {A}', {("attr", "gpu.example.com", "model")}),
        (f"{A}.?model.orValue(true)", {("attr", "gpu.example.com", "model")}),
        (f"cel.bind(a, {A}, a.x && a.y)", {("attr", "gpu.example.com", k) for k in "xy"}),
        (f'{C}.memory == quantity("1")', {("cap", "gpu.example.com", "memory")}),
        (f"{A}.numa.all(n, n > 0)", {("attr", "gpu.example.com", "numa")}),
        (f'{A}.exists(k, k == "x")', {("attr", "gpu.example.com")}),
        (f"{A}[device.driver] == 1", {("driver",), ("attr", "gpu.example.com")}),
        ("device.attributes[device.driver].x", {("driver",), ("attr",)}),
        ('"x" in device.attributes', {("attr",)}),
        (f"[{A}.x].all(device, device)", {("attr", "gpu.example.com", "x")}),
    ],
)
def test_a_program_reads(text: str, leaves: set[tuple[str, ...]]) -> None:
    assert STORED.compile(text).reads == frozenset(leaves)


@pytest.mark.parametrize("text", ["device == device", "dyn(device).driver == 'x'"])
def test_a_program_that_takes_the_device_whole_may_read_everything(text: str) -> None:
    program = STORED.compile(text)
    assert program.reads is None
    assert program.projection(a_device()) is None


def test_devices_that_agree_in_what_is_read_have_one_projection() -> None:
    program = STORED.compile(f'{A}.model == "H100" && {C}.memory.isGreaterThan(quantity("1Gi"))')
    one = a_device(attributes={"model": {"string": "H100"}, "uuid": {"string": "1"}})
    other = a_device(attributes={"model": {"string": "H100"}, "uuid": {"string": "2"}})
    assert program.projection(one) == program.projection(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"string": "1"}, {"int": 1}),
        ({"int": 1}, {"bool": True}),
        ({"int": 1}, {"ints": [1]}),
        ({"string": "1.0.0"}, {"version": "1.0.0"}),
        ({"ints": [1]}, {"bools": [True]}),
    ],
)
def test_a_projection_tells_values_of_different_types_apart(
    one: dict[str, object], other: dict[str, object]
) -> None:
    program = STORED.compile(f"{A}.x")
    first, second = (a_device(attributes={"x": value}) for value in (one, other))
    assert program.projection(first) != program.projection(second)


def test_a_missing_attribute_is_part_of_the_projection() -> None:
    program = STORED.compile(f"has({A}.x)")
    assert program.projection(a_device(attributes={})) != program.projection(
        a_device(attributes={"x": {"int": 1}})
    )
