"""What expressions cost: exactly at run time, and at most."""

import re

import pytest
from unit.cel.devices import STORED, cost_of, error_of

from kube_cel import CostExceededError
from kube_cel.saturating import UNKNOWN

A = 'device.attributes["gpu.example.com"]'

COSTS = [
    ('device.driver == "gpu.example.com"', 4, 4),
    ('A.model == "H100"', 5, 5),
    ('A.serial == "x"', 5, 5),
    ("has(A.model)", 3, 3),
    ('A.?serial.orValue("x") == "x"', 4, 6),
    ('A["in" + "dex"] == 3', 6, 6),
    ("A[device.driver] == 1 || true", 6, 7),
    ('device.driver in ["a", "b"]', 2, 14),
    ("device.driver in [device.driver]", 15, 15),
    ('"x" in {"x": 1}', 1, 31),
    ("[1, 2, 3].size() == 3", 2, 12),
    ("[1, 1 + 1].size() == 2", 13, 13),
    ('{"a": A.index}.a == 3', 37, 36),
    ("true ? A.healthy : false", 3, 4),
    ("1 / 0 == 1 || true", 2, 2),
    ('quantity("40Gi").isLessThan(device.capacity["gpu.example.com"].memory)', 6, 6),
    ('semver("1.2.3") == A.driverVersion', 6, 12),
    ('"a" + "b" == "ab"', 2, 2),
    ('"a,b".split(",").size() == 2', 3, 3),
    ('["a", "b"].join("-").size() == 3', 3, 1844674407370955276),
    ('"abcdefghijkl".contains("abcdefghijkl")', 4, 4),
    ('"abc".matches("[a-c]+")', 2, 2),
    ('"aaaaaaaaaaaaaaaaaaaa" < "b"', 1, 1),
    ('"é日本語日本語日本語".indexOf("x") == -1', 3, 2),
    ("[1, 2].all(x, x > 0)", 11, 21),
    ("[1, 2].exists(x, x == 1)", 10, 23),
    ("[1, 2].exists_one(x, x == 1)", 8, 20),
    ("[1, 2].map(x, x * 2).size() == 2", 31, 51),
    ("[1, 2].filter(x, x > 1).size() == 1", 20, 53),
    ("[3, 1, 2].sort()[0] == 1", 32, 41),
    ('["b", "a"].sort()[0] == "a"', 22, 32),
    ("[3, 1].sortBy(x, -x)[0] == 3", 53, 82),
    ("lists.range(10).size() == 10", 23, 23),
    ("[1, 2, 3].slice(0, 2).size() == 2", 15, 25),
    ("sets.equivalent([1, 2], [2, 1])", 9, 29),
    ("cel.bind(x, A.index, x + x == 6)", 8, 30),
    ("optional.of(1).optMap(x, x + 1).value() == 2", 9, 19),
    ('ip("10.0.0.1").family() == 4', 3, 3),
    ('cidr("10.0.0.0/8").containsIP("10.1.2.3")', 3, 6),
    ('url("https://a.test/").getHost() == "a.test"', 4, 4),
    ('format.dns1123Label().validate("abc").hasValue()', 10, 34),
    ('"%s".format(["x"]) == "x"', 2, 12),
    ('timestamp("2024-01-01T00:00:00Z").getFullYear() == 2024', 2, 3),
    ('{"a": 1}.transformMap(k, v, v + 1).size() == 1', 8, 68),
    ('dyn("a").startsWith("a")', 1, 2),
    ("dyn(1).size() == 1 || true", 2, 3),
    ('A.model.lowerAscii().startsWith("h")', 6, 12),
    ("A.numa.includes(1)", 6, 68),
]


@pytest.mark.parametrize(("text", "actual", "greatest"), COSTS)
def test_an_expression_costs(text: str, actual: int, greatest: int) -> None:
    text = re.sub(r"\bA\b", A, text)
    assert cost_of(text) == actual
    assert STORED.compile(text, result="any").estimated_cost == greatest


def test_a_size_that_nobody_knows_makes_the_estimate_the_largest_number() -> None:
    program = STORED.compile(f'{A}.numa.all(n, n.matches("x"))')
    assert program.estimated_cost == UNKNOWN


def test_a_loop_over_attributes_is_estimated_by_what_the_api_lets_in() -> None:
    program = STORED.compile(f'{A}.exists(k, k == "model")')
    assert program.estimated_cost == 3 + 32 * (3 + 3) + 1


def test_the_limit_itself_may_be_spent() -> None:
    exact = "lists.range(999987).size() == 999987"
    assert cost_of(exact) == 1_000_000
    assert error_of(exact) is None


def test_one_more_than_the_limit_ends_the_evaluation() -> None:
    text = "lists.range(999988).size() == 999988 || true"
    assert isinstance(error_of(text), CostExceededError)
    assert cost_of(text) == 1_000_001


def test_no_operator_absorbs_that_the_limit_was_reached() -> None:
    text = "lists.range(1000).all(x, lists.range(1000).all(y, true)) || true"
    assert isinstance(error_of(text), CostExceededError)


def test_a_call_that_the_limit_does_not_allow_is_not_begun() -> None:
    text = "lists.range(900000).distinct().size() == 900000"
    assert isinstance(error_of(text), CostExceededError)
