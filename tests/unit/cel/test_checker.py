"""Which expressions have a type, in which environment."""

import pytest
from unit.cel.devices import NEW, STORED, refusal_of

from kube_cel import CompileErrorKind, Environment

A = 'device.attributes["gpu.example.com"]'
LISTS = Environment(stored=False, list_attributes=True)


@pytest.mark.parametrize(
    "text",
    [
        *("driver == 'x'", "device.name == 'x'", "device['driver'] == 'x'", "nobody(1)"),
        *("1 == 1.0", "1 == '1'", "'a' + 1 == 'a1'", "!1", "-true", "1 && true", "1 ? true : true"),
        *("true ? 1 : 'a'", "'a'.size == 1", "[1].x", "null.x", "'a'.all(c, true)", "1 in 'a'"),
        *(
            "[1, 'a'] == []",
            "{'a': 1, 'b': 'x'} == {}",
            "{'a': 1, 2: 1} == {}",
            "[1, dyn(1)] == []",
        ),
        *("quantity('1') < quantity('2')", "quantity('1') == 1", "semver('1.0.0') == '1.0.0'"),
        *("semver('1.0.0').isLessThan(quantity('1'))", "quantity(1) == quantity('1')"),
        *("device.capacity['a'].b.value == 1", "device.attributes['a/b'] == 'x'"),
        *("[?dyn(1)] == []", "{?'a': dyn(1)} == {}", "[[1]].sort() == []", "'a'.reverse() == 'a'"),
        *("math.abs(-1) == 1", "base64.encode(b'a') == 'YQ=='", "kubernetes.Quantity{} == null"),
        *("[1].all(x, x)", "[1].map(x, y) == []", "[1].exists(i, v, 1)", "[1].existsOne(x, true)"),
        *(
            "'a'.matches('[')",
            "duration('1 day') > duration('1s')",
            "timestamp('x') > timestamp(0)",
        ),
        *("'%d'.format(['a']) == ''", "'%s'.format([]) == ''", "'%q'.format([1]) == ''"),
        *(
            "'%'.format([1]) == ''",
            "'a'.format([1]) == ''",
            "google.protobuf.Int32Value{x: 1} == 1",
        ),
    ],
)
def test_an_expression_has_no_type(text: str) -> None:
    refusal = refusal_of(text)
    assert refusal is not None
    assert refusal.kind is CompileErrorKind.RULE_INVALID


@pytest.mark.parametrize(
    "text",
    [
        *("int('x') == 1", "string(b'\\xff') == 'a'", "{b'a': 1} == {}", "'a'.find('[') == ''"),
        *("dyn({'a': 1})[null] == 1", "duration == type(duration('1s'))", "bool('yes') || true"),
    ],
)
def test_a_constant_that_fails_fails_when_the_program_is_made(text: str) -> None:
    refusal = refusal_of(text)
    assert refusal is not None
    assert refusal.kind is CompileErrorKind.INTERNAL


@pytest.mark.parametrize(
    "text",
    [
        *("1 < 1.5 && 1u <= 1 && 2.0 > 1u", "dyn(1) == 'a'", "[1] == [dyn(1)]", "null == device"),
        *(f"{A}.x == 'a' && {A}.x == 1 && {A}.x == true", f"{A}.x.compareTo(semver('1.0.0')) == 0"),
        *("'%s-%s'.format(['a', 1]) == 'a-1'", "(true ? null : quantity('1')) == null"),
        *("type(1) == int && type(ip('::1')) == net.IP", "has(device.driver)", "[].size() == 0"),
        *("google.protobuf.Int32Value{value: 1} == 1", "[] == [1] || {} == {'a': 1}"),
    ],
)
def test_an_expression_has_a_type(text: str) -> None:
    assert refusal_of(text) is None


def test_a_known_type_other_than_bool_is_refused() -> None:
    refusal = refusal_of("device.driver")
    assert refusal is not None
    assert refusal.message == "must evaluate to bool or the unknown type, not string"


def test_any_result_may_be_asked_for() -> None:
    assert STORED.compile("device.driver", result="any").text == "device.driver"


def test_an_attribute_may_be_a_list_only_where_its_gate_is_on() -> None:
    loop = f"{A}.numa.all(n, n > 0)"
    assert refusal_of(loop, STORED) is None
    assert refusal_of(loop, LISTS) is None
    refusal = refusal_of(loop, NEW)
    assert refusal is not None
    assert "expression of type 'any' cannot be range of a comprehension" in refusal.message


def test_includes_comes_with_the_gate_for_lists() -> None:
    text = f"{A}.numa.includes(1)"
    assert refusal_of(text, STORED) is None
    assert refusal_of(text, LISTS) is None
    assert refusal_of(text, NEW) is not None


def test_the_flag_for_sharing_comes_with_its_gate_but_is_always_there_when_stored() -> None:
    text = "device.allowMultipleAllocations"
    off = Environment(stored=False, consumable_capacity=False)
    assert refusal_of(text, off) is not None
    assert refusal_of(text, Environment(consumable_capacity=False)) is None


def test_a_failure_is_remembered_as_well_as_a_program() -> None:
    assert STORED.compile("true") is Environment().compile("true")
    assert refusal_of("nobody") is refusal_of("nobody")


def test_a_type_that_doubles_with_each_name_is_refused_in_time() -> None:
    names = "".join(f"cel.bind(x{i + 1}, {{x{i}: x{i}}}, " for i in range(60))
    refusal = refusal_of(f"cel.bind(x0, {{1: 1}}, {names}true{')' * 61}")
    assert refusal is not None
    assert "too large" in refusal.message
