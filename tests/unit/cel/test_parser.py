"""What is CEL, what is not, and how deep it may go."""

import pytest
from unit.cel.devices import STORED, refusal_of, value_of

from kube_cel import CompileErrorKind


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 == 7", True),
        ("(1 + 2) * 3 == 9", True),
        ("10 - 4 - 3 == 3", True),
        ("-7 / 2 == -3 && -7 % 2 == -1", True),
        ("--1 == 1 && !!true", True),
        ("1 - -1 == 2", True),
        ("false ? 1 : true ? 2 : 3", 2),
        ("true || false && false", True),
        ("!(1 == 2) == true", True),
        ("1 < 2 == true", True),
        ("0x1F", 31),
        ("-9223372036854775808", -(2**63)),
        (".5 + 1e1", 10.5),
        ("2u", 2),
        ('"a\\tb\\x41\\u00e9\\101"', "a\tbAéA"),
        ('r"\\d"', "\\d"),
        ('"""a"b\n"""', 'a"b\n'),
        ("'it' + \"s\"", "its"),
        ('b"\\xff\\377é"', b"\xff\xff\xc3\xa9"),
        ("[1, 2,]", (1, 2)),
        ("{,}.size()", 0),
        ("true // and nothing else", True),
        ("1\n+\n1", 2),
        ('{"package": 1}.package', 1),
        ('{"in": 1}.`in`', 1),
        ('{"a b/c.d-e": 1}.`a b/c.d-e`', 1),
    ],
)
def test_a_text_means(text: str, value: object) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "1 +", "+ 1", "(1", "1)", "[1", "{1: }", "a.", ".", "1..2", "a.1", "1 2"),
        *("a b", "true = false", "true & false", "a ?? b", "true ? 1", '"abc', "'a\nb'", '"\\q"'),
        *('"\\ud800"', "#", "@x", "$", "`a`", "a.`b`()", "a.in", "1x", "0x", "1e", "in", "[?]"),
        *("let", "for(1)", "[1].all(while, true)", "[1].all(1, true)", "has(a)", "has(a[0])"),
        *("9223372036854775808", "18446744073709551616u", "1e999", "/* x */ true", "\ud800"),
        *("cel.bind(a.b, 1, true)", "[1].all(x, x, true)", "true and false", "a(1 2)", "x := 1"),
    ],
)
def test_a_text_is_not_cel(text: str) -> None:
    refusal = refusal_of(text)
    assert refusal is not None
    assert refusal.kind is CompileErrorKind.RULE_INVALID


def test_a_fault_names_its_line_and_column() -> None:
    refusal = refusal_of("true &&\n  1 == nobody")
    assert refusal is not None
    assert "ERROR: <input>:2:8: undeclared reference to 'nobody'" in refusal.message


@pytest.mark.parametrize(
    ("opening", "inside", "closing"),
    [
        ("(", "true", ")"),
        ("[0][", "0", "]"),
        ("string(", '"a"', ")"),
        ("[1].all(x, ", "true", ")"),
        ("cel.bind(x, 1, ", "true", ")"),
        ("true ? true : ", "true", ""),
    ],
)
def test_250_expressions_may_stand_inside_one_another(
    opening: str, inside: str, closing: str
) -> None:
    STORED.compile(opening * 249 + inside + closing * 249, result="any")
    refusal = refusal_of(opening * 250 + inside + closing * 250)
    assert refusal is not None
    assert "recursion limit exceeded: 250" in refusal.message


@pytest.mark.parametrize(("part", "longest"), [(" + 1", 249), (" == true", 250)])
def test_250_operators_may_stand_in_one_chain(part: str, longest: int) -> None:
    first, last = ("1", " == 1") if "+" in part else ("true", "")
    assert refusal_of(first + part * longest + last) is None
    refusal = refusal_of(first + part * (longest + 1) + last)
    assert refusal is not None
    assert "max recursion depth exceeded" in refusal.message


def test_conjunctions_may_be_long() -> None:
    assert value_of(" && ".join(["true"] * 1_200)) is True


def test_a_text_over_the_engines_length_is_refused() -> None:
    refusal = refusal_of("true" + " " * 100_000)
    assert refusal is not None
    assert "exceeds limit" in refusal.message
