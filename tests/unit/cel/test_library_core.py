"""The standard functions and the extensions for strings, lists, sets and loops."""

import pytest
from unit.cel.devices import error_of, value_of

TRUE = [
    # numbers
    "7 / 2 == 3 && 7 % -2 == 1 && -7 % 2 == -1",
    "1.0 / 0.0 == double('inf') && 0.0 / 0.0 != 0.0 / 0.0",
    "5u - 3u == 2u && 2u * 3u == 6u",
    "dyn(9007199254740993) == 9007199254740992.0",
    # conversions
    'int("-5") == -5 && int(3.9) == 3 && int(-3.9) == -3 && int(2u) == 2',
    'uint("5") == 5u && uint(3.9) == 3u && double("1e3") == 1000.0 && double(2) == 2.0',
    'bool("t") && !bool("FALSE") && string(true) == "true"',
    'string(1e6) == "1e+06" && string(0.5) == "0.5" && string(1.0) == "1" && string(-2) == "-2"',
    'string(b"abc") == "abc" && bytes("é") == b"é" && size(bytes("é")) == 2',
    'type(1) == int && type("a") == string && type([1]) == type([]) && type(int) == type',
    'string(timestamp("2024-02-29T10:00:00.5+02:00")) == "2024-02-29T10:00:00.5+02:00"',
    'string(duration("1h1.5s")) == "3601.5s" && int(timestamp("1970-01-01T00:01:00Z")) == 60',
    # time
    'timestamp("2024-02-29T23:30:00Z").getDate() == 29',
    'timestamp("2024-02-29T23:30:00Z").getMonth() == 1',
    'timestamp("2024-02-29T23:30:00Z").getDayOfYear() == 59',
    'timestamp("2024-03-03T00:00:00Z").getDayOfWeek() == 0',
    'timestamp("2024-02-29T23:30:00Z").getHours("01:00") == 0',
    'timestamp("2024-07-01T12:00:00Z").getHours("Europe/Berlin") == 14',
    'duration("90m").getHours() == 1 && duration("-90s").getMinutes() == -1',
    'timestamp("2024-01-01T00:00:00Z") + duration("24h") == timestamp("2024-01-02T00:00:00Z")',
    # strings
    '"hello".charAt(4) == "o" && "hello".charAt(5) == ""',
    '"abcabc".indexOf("c", 3) == 5 && "abcabc".lastIndexOf("a") == 3 && "a".indexOf("x") == -1',
    '"日本語".substring(1, 2) == "本" && "日本語".size() == 3',
    '"a,b,c".split(",", 2) == ["a", "b,c"] && "abc".split("") == ["a", "b", "c"]',
    '"aaa".replace("a", "b", 2) == "bba" && "ab".replace("", "-") == "-a-b-"',
    '["a", "b"].join("-") == "a-b" && ["a", "b"].join() == "ab"',
    '" \\t\\u00a0x\\n".trim() == "x" && "ÄbC".lowerAscii() == "Äbc" && "äb".upperAscii() == "äB"',
    'strings.quote("a\\n\\"") == "\\"a\\\\n\\\\\\"\\""',
    '"abc".matches("^a.c$") && !"abc".matches("^b") && matches("abc", "b")',
    '"a1b22".find("[0-9]+") == "1" && "a1b22".findAll("[0-9]+") == ["1", "22"]',
    '"baaac".findAll("a*") == ["", "aaa", ""] && "a1b2".findAll("[0-9]", 1) == ["1"]',
    # format
    '"%s %d %.2f %x%%".format(["a", 1, 1.5, 255]) == "a 1 1.50 ff%"',
    '"%X %o %b %e".format(["k", 8, 5, 1234.5]) == "6B 10 101 1.234500\\u00d710\\u2070\\u00b3"',
    '"%s".format([{"b": 2, "a": 1}]) == "{\\"a\\":1, \\"b\\":2}"',
    '"%f".format([1234567.0]) == "1,234,567.000000" && "%.0f".format([2.5]) == "2"',
    '"%s".format([1.5]) == "1.5" && "%s".format([duration("90s")]) == "90s"',
    # lists and maps
    "[3, 1, 2].sort() == [1, 2, 3] && [2, 1].sortBy(x, -x) == [2, 1]",
    "[1, 2, 3].slice(1, 3) == [2, 3] && [[1], [2, 3]].flatten() == [1, 2, 3]",
    "[1, 1, 2].distinct() == [1, 2] && [1, 2].reverse() == [2, 1] && lists.range(3) == [0, 1, 2]",
    "[1, 2, 3].sum() == 6 && [1.5, 2.5].max() == 2.5 && ['b', 'a'].min() == 'a'",
    "[1, 2, 2].isSorted() && ![2, 1].isSorted() && [5, 6, 5].lastIndexOf(5) == 2",
    "[] + [1] == [1] && 1 in [1, 2] && !(3 in {1: 2}) && dyn(1.0) in [1]",
    "{1: 'a'}[1] == 'a' && {'a': {'b': 1}}.a.b == 1",
    "{dyn(1): 'a'}[1u] == 'a' && {dyn(1): 'a', dyn(1u): 'b'}.size() == 2",
    "sets.contains([1, 2, 3], [3, 1]) && sets.equivalent([1, 1, 2], [2, 1])",
    "sets.intersects([1], [1, 2]) && !sets.intersects([], [1])",
    # loops
    "[1, 2].all(x, x > 0) && [1, 2].exists(x, x > 1) && [1, 2].exists_one(x, x > 1)",
    "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6] && [1, 2].filter(x, x != 1) == [2]",
    "{'a': 1}.all(k, k == 'a') && {'a': 1}.map(k, k) == ['a']",
    "[5, 6].all(i, v, v == i + 5) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
    "[1, 2].transformList(i, v, i * v) == [0, 2]",
    "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 2) == {'b': 4}",
    "{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}",
    "[[1, 2], [3]].map(x, x.map(y, y + x.size())) == [[3, 4], [4]]",
    "cel.bind(x, 2, cel.bind(y, x + 1, [1].map(x, x + y))) == [4]",
    "google.protobuf.Duration{seconds: 60} == duration('1m')",
]
ERRORS = [
    "1 / 0 == 1",
    "1 % 0 == 1",
    "9223372036854775807 + 1 == 0",
    "-(-9223372036854775808) == 0",
    "-9223372036854775808 / -1 == 0",
    "0u - 1u == 0u",
    "dyn(0.0 / 0.0) < 1.0",
    "[1][1] == 1",
    "[1, 2].slice(1, 3) == []",
    "[].min() == 1",
    "lists.range(-1) == []",
    "{'a': 1}.b == 1",
    "dyn(1).startsWith('a')",
    "dyn('a') + 1 == 2",
    "dyn(1) && true",
    "dyn('ab').all(c, true)",
    "'abc'.substring(2, 1) == ''",
    "int(dyn('x') + '') == 1",
    "timestamp('9999-12-31T23:59:59Z') + duration('1s') > timestamp(0)",
    "timestamp(0).getHours('Nowhere/Town') == 0",
    "{'a': 1, 'b': 2}.transformMapEntry(k, v, {'x': 1}).size() == 1",
    "'%d'.format([dyn('a')]) == ''",
]


@pytest.mark.parametrize("text", TRUE)
def test_it_holds(text: str) -> None:
    assert value_of(text) is True


@pytest.mark.parametrize("text", ERRORS)
def test_it_is_an_error(text: str) -> None:
    assert error_of(text) is not None
