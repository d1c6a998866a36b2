"""No expression may hold up its caller, whatever it costs."""

import pytest
from unit.cel.devices import STORED, a_device, error_of, refusal_of

from kube_cel import DeadlineExceededError, EvaluationError, WorkExceededError


def nested_names(first: str, step: str, count: int, last: str) -> str:
    """``x0 = first, x1 = step of x0, ...`` and the last expression over the last name."""
    names = "".join(f"cel.bind(x{i + 1}, {step.replace('X', f'x{i}')}, " for i in range(count))
    return f"cel.bind(x0, {first}, {names}{last.replace('X', f'x{count}')}{')' * (count + 1)}"


@pytest.mark.parametrize(
    "text",
    [
        nested_names("[1, 2]", "X + X", 60, "X.size() == 1"),
        nested_names("[1]", "[X, X]", 60, "X == X"),
        nested_names("[1]", "[X, X]", 60, "X.includes(1)"),
        nested_names("[1]", "[X, X]", 60, '"%s".format([X]) == ""'),
        nested_names("[1]", "[X, X]", 40, "X.flatten(50).size() == 1"),
        nested_names('{"a": 1}', '{"a": X, "b": X}', 60, "X == X"),
    ],
)
def test_work_that_costs_little_is_bounded_all_the_same(text: str) -> None:
    assert isinstance(error_of(text), WorkExceededError)


def test_a_macro_that_uses_a_tree_twice_does_not_double_the_compilation() -> None:
    assert refusal_of("optional.of(1)" + ".optMap(x, x)" * 60 + ".hasValue()") is None


def test_a_pattern_takes_linear_time() -> None:
    text = f'"{"a" * 5000}!".matches("(a+)+$")'
    assert error_of(text) is None


def test_a_quantity_beyond_all_bounds_is_an_error() -> None:
    assert isinstance(error_of('quantity("1e99999999999") == quantity("1")'), EvaluationError)


def test_a_loop_ends_when_its_caller_says_that_time_is_up() -> None:
    asked: list[int] = []

    def expired() -> bool:
        asked.append(1)
        return len(asked) == 3

    program = STORED.compile("lists.range(10000).all(x, true)")
    with pytest.raises(DeadlineExceededError) as caught:
        program.matches(a_device(), expired=expired)
    assert 10_011 < caught.value.cost < 12_000


def test_without_a_caller_that_asks_no_clock_is_read() -> None:
    program = STORED.compile("lists.range(10000).all(x, true)")
    assert program.matches(a_device()) is True


@pytest.mark.parametrize(
    "text",
    [
        *("(" * 50_000, "[" * 50_000, "{" * 50_000, "-" * 50_000, "!" * 50_000 + "true"),
        *("1" + "+1" * 40_000, "a" + ".a" * 40_000, '"' * 99_999, "f(" * 40_000, "?" * 50_000),
    ],
)
def test_a_long_text_is_refused_or_compiled_but_never_breaks_the_parser(text: str) -> None:
    refusal_of(text)
