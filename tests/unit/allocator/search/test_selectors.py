"""What selectors say of a pool's devices: of many at once what they say of each alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.allocator.search.builders import DRIVER, EVERYTHING, NODE, a_device, a_slice

import kube_cel
from dra_allocator.core.search.candidates import candidates, judge
from dra_allocator.core.search.devices import PoolDevice
from dra_allocator.core.search.pools import Pool, pools_for_node
from dra_allocator.core.search.selectors import Failed, Selectors
from dra_allocator.core.search.shapes import RequestShape

A = f'device.attributes["{DRIVER}"]'
OF_THE_DRIVER = f'device.driver == "{DRIVER}"'
EXPRESSIONS = (
    *(OF_THE_DRIVER, 'device.driver != "other"', f'{A}.s == "x"', f"{A}.n > 1", f"has({A}.n)"),
    *(
        f"{A}.n > 1 || {A}.s == 'x'",
        f"[1, 2].exists(i, i == {A}.n)",
        f"{A}.v.major() == 1",
        "wrong(",
    ),
)
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "s": st.sampled_from(["x", "y"]),
        "n": st.integers(0, 3),
        "v": st.sampled_from(["1.0.0", "2.0.0", "1.0"]).map(lambda text: {"version": text}),
    },
)


def a_pool(*attributes: dict[str, Any]) -> Pool:
    devices = [a_device(f"d{n}", attributes=each) for n, each in enumerate(attributes)]
    (pool,) = pools_for_node([a_slice(*devices)], NODE, EVERYTHING)
    return pool


def selectors() -> Selectors:
    return Selectors(kube_cel.Environment())


@given(st.sampled_from(EXPRESSIONS), st.lists(ATTRIBUTES, min_size=1, max_size=5))
def test_many_devices_are_told_what_each_is_told_alone(
    expression: str, attributes: list[dict[str, Any]]
) -> None:
    devices = a_pool(*attributes).devices
    alone = [selectors().matches(expression, [device]) for device in devices]
    asked = selectors()
    for _ in range(2):
        together = asked.matches(expression, devices * 100)
        assert [[answer] for answer in together[: len(devices)]] == alone
        assert together == together[: len(devices)] * 100


@given(st.sampled_from(EXPRESSIONS), st.lists(ATTRIBUTES, min_size=1, max_size=5))
def test_a_pools_candidates_are_those_that_are_judged_so_one_by_one(
    expression: str, attributes: list[dict[str, Any]]
) -> None:
    pool = a_pool(*attributes)
    shape = RequestShape(class_selectors=(OF_THE_DRIVER,), selectors=(expression,))
    found = candidates(pool, shape, selectors())
    verdicts = [judge(pool, place, shape, selectors()) for place in range(len(attributes))]
    masks = (found.usable, found.selected, found.failed)
    for place, verdict in enumerate(verdicts):
        here = tuple(bool(mask >> place & 1) for mask in masks)
        assert here == (verdict.reason is None, verdict.selected, verdict.error is not None)
    errors = {place: str(one.error) for place, one in enumerate(verdicts) if one.error}
    assert [(place, str(error)) for place, error in found.errors.items()] == list(errors.items())


def read(device: PoolDevice) -> bool:
    return device._cel is not None


@pytest.mark.parametrize(("version", "is_read"), [("1.0.0", True), ("1.0", True), (None, False)])
def test_for_a_class_that_names_the_driver_only_devices_with_versions_are_read(
    version: str | None, *, is_read: bool
) -> None:
    (device,) = a_pool({"v": {"version": version}} if version else {"n": 1}).devices
    selectors().matches(OF_THE_DRIVER, [device])
    assert read(device) is is_read


def test_a_device_that_cannot_be_read_has_no_answer_whatever_is_asked() -> None:
    devices = a_pool({"n": 2}, {"v": {"version": "1.0"}}).devices
    for expression in (OF_THE_DRIVER, f"{A}.n == 2", "true"):
        fine, unreadable = selectors().matches(expression, devices)
        assert fine is True
        assert isinstance(unreadable, Failed)
        assert "parse semantic version" in unreadable


def test_a_selector_that_does_not_compile_has_no_answer_for_any_device() -> None:
    devices = a_pool({}, {}).devices
    assert all(isinstance(one, Failed) for one in selectors().matches("wrong(", devices))
