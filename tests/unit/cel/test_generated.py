"""The fast way answers as the exact way does, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cel.devices import STORED, a_device

from kube_cel import Device, EvaluationError, NoSuchKeyError, Program
from kube_cel.compiler import compile_program
from kube_cel.environment import scope
from kube_cel.generated import generate

A = 'device.attributes["d"]'
C = 'device.capacity["d"]'
FAST = (
    *('device.driver == "d"', f'{A}.s == "x"', f"{A}.i == 1", f"{A}.b == true", f"{A}.s == {A}.t"),
    *(f"{A}.b", f"!{A}.b", f"{A}.i >= 1", f"{A}.i < 2 && {A}.b", f"{A}.i == 1 || {A}.b"),
    *(f'{A}.s in ["x", "y"]', f'"s" in {A}', f"has({A}.s)", f"{A}.?b.orValue(true)"),
    *(f'{A}.?s.orValue("{{0}}") == "x"', f'{A}["s"] == "{{0}}"', f'{A}[?"{{"].orValue(true)'),
    *(f'cel.bind(a, {A}, a.s == "x" && a.?i.orValue(0) == 1)', f'{A}.s.startsWith("x")'),
    *(f'{A}.v.compareTo(semver("1.2.0")) >= 0', f'{A}.v.isLessThan(semver("1.2.0"))'),
    *(f'{C}.m.isGreaterThan(quantity("1Gi"))', f'{C}.m == quantity("2Gi")', f"{A}.v.major() == 1"),
    *(f'{C}.m.compareTo(quantity("1Gi")) > 0', f'{A}.s.matches("^x+$")', f"{A}.i != 1"),
    *(f'{A}.s.lowerAscii().contains("x")', f"{A}.i + 1 == 2", f"({A}.i == 1) == {A}.b"),
    *(f"device.allowMultipleAllocations == {A}.b", f'!({A}.s == "x") || {A}.i == 1'),
    *(f'{A}.s != "x"', 'device.driver != "d"', f'{C}.m.compareTo(quantity("1Gi")) == 0'),
    *(f'{A}.v.compareTo(semver("1.2.0")) != 0', f'{C}.m.compareTo(quantity("1Gi")) <= 0'),
    *(f'{C}.m.compareTo(quantity("1Gi")) < 1', f'{A}.v.compareTo(semver("1.2.0")) == dyn(false)'),
    *(f'{A}.v.isGreaterThan(semver("1.2.0"))', f'{C}.m.isLessThan(quantity("2Gi"))'),
)
EXACT_ONLY = (
    *(f"{A}.l.all(x, x > 0)", f"{A}.s.size() == {A}.l.map(x, x).size()", "dyn(device) == 1"),
    *(f'{A}.s.replace("x", "yy") == "yy"', f"device.attributes[{A}.s].i == 1"),
    f'{C}.m.isGreaterThan(dyn(semver("1.0.0")))',
)


def values() -> st.SearchStrategy[dict[str, object]]:
    """Attributes of every type, for names that the selectors use."""
    return st.one_of(
        st.sampled_from(["x", "xx", "y", "", "X", "1"]).map(lambda s: {"string": s}),
        st.integers(-1, 3).map(lambda i: {"int": i}),
        st.booleans().map(lambda b: {"bool": b}),
        st.sampled_from(["1.2.0", "1.2.0-a", "2.0.0", "0.9.1"]).map(lambda v: {"version": v}),
        st.lists(st.integers(0, 2), max_size=2).map(lambda i: {"ints": i}),
    )


def devices() -> st.SearchStrategy[Device]:
    return st.builds(
        a_device,
        driver=st.sampled_from(["d", "e"]),
        attributes=st.dictionaries(st.sampled_from([f"d/{n}" for n in "stibvl"]), values()),
        capacity=st.dictionaries(
            st.sampled_from(["d/m"]),
            st.sampled_from(["1Gi", "2Gi", "2147483648", "1"]).map(lambda q: {"value": q}),
        ),
        shareable=st.sampled_from([None, True, False]),
    )


@given(text=st.sampled_from(FAST), device=devices())
def test_the_fast_way_never_contradicts_the_exact_way(text: str, device: Device) -> None:
    program = STORED.compile(text)
    fast = generate(text, program._checked)
    assert fast is not None
    (quick,) = fast((device,), lambda _: None)
    assert quick is None or program.evaluate(device).value is quick


@pytest.mark.parametrize("text", EXACT_ONLY)
def test_what_loops_or_can_grow_has_no_fast_way(text: str) -> None:
    assert generate(text, STORED.compile(text)._checked) is None


@given(text=st.sampled_from(FAST), device=devices())
def test_an_answer_does_not_depend_on_how_often_it_was_asked(text: str, device: Device) -> None:
    program = compile_program(text, scope(STORED), any_result=False, dyn_result=True)
    first = answer(program, device)
    assert {answer(program, device) for _ in range(100)} == {first}


@given(text=st.sampled_from((*FAST, *EXACT_ONLY)), several=st.lists(devices()))
def test_devices_are_answered_together_as_one_by_one(text: str, several: list[Device]) -> None:
    program = STORED.compile(text, "any")
    together = program.answers(several, lambda device: answer(program, device))
    assert together == [answer(program, device) for device in several]


@given(st.lists(devices(), min_size=1))
def test_only_devices_that_the_fast_way_cannot_tell_are_handed_on(several: list[Device]) -> None:
    program = STORED.compile(f'{A}.s == "x"')
    program.answers(several * 100, lambda _: False)
    handed_on: list[Device] = []
    program.answers(several, handed_on.append)
    assert not any(isinstance(attribute(one), str) for one in handed_on)
    assert all(one in handed_on for one in several if attribute(one) is None)


def test_the_error_of_a_device_that_could_not_be_read_may_stand_in_its_place() -> None:
    program = STORED.compile(f'{A}.s == "x"')
    seen: list[Device | EvaluationError] = [a_device("d", {"s": {"string": "x"}})]
    seen.append(EvaluationError("bad version"))
    for _ in range(2):
        said = program.answers(seen * 50, type)
        assert set(said[1::2]) == {EvaluationError}
        assert set(said[::2]) <= {True, Device}


def attribute(device: Device) -> object:
    return device.attributes.get("d/s")


def answer(program: Program, device: Device) -> bool | str:
    try:
        return program.matches(device)
    except EvaluationError as error:
        return error.message


def test_a_selector_that_is_asked_often_makes_no_values_of_a_device_any_more() -> None:
    program = compile_program(f'{A}.s == "x"', scope(STORED), any_result=False, dyn_result=True)
    first, last = (a_device("d", {"s": {"string": "x"}}) for _ in range(2))
    assert all(program.matches(first) for _ in range(100))
    assert program.matches(last)
    assert (first._fields is None, last._fields is None) == (False, True)


def test_an_error_is_the_same_error_on_the_fast_way() -> None:
    program = STORED.compile(f'{A}.missing == "x"')
    for _ in range(200):
        with pytest.raises(NoSuchKeyError, match="missing") as caught:
            program.matches(a_device("d"))
        assert caught.value.cost == 5


def test_a_device_with_a_very_long_attribute_goes_the_exact_way() -> None:
    assert a_device().ordinary
    assert not a_device(attributes={"s": {"string": "x" * 1_000}}).ordinary
