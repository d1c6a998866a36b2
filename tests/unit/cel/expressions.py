"""Random expressions, from well-typed looking ones to broken ones, for the CEL properties."""

from hypothesis import strategies as st

LEAVES = (
    *("0", "1", "-1", "2u", "1.5", '"a"', '""', 'b"x"', "true", "false", "null", "[]", "{}"),
    *("9223372036854775807", "-9223372036854775808", "1e300", 'r"\\d"', "'é'", "i", "l", "d"),
)
OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||")
METHODS = (
    *("size()", "startsWith({})", "endsWith({})", "contains({})", "matches({})", "sort()"),
    *("reverse()", "distinct()", "flatten()", "slice({}, {})", "orValue({})", "or({})"),
    *("hasValue()", "value()", "getSeconds()", "x", "?x", "first", "map(x, {})"),
    *("all(x, {})", "exists(x, {})", "exists_one(x, {})", "filter(x, {})", "map(x, {}, {})"),
    *("all(k, v, {})", "exists(k, v, {})", "transformList(k, v, {})", "optMap(x, {})"),
    *("transformMap(k, v, {})", "optFlatMap(x, {})"),
)
FUNCTIONS = (
    *("size({})", "int({})", "uint({})", "double({})", "string({})", "bytes({})", "bool({})"),
    *("type({})", "dyn({})", "duration({})", "timestamp({})", "has({}.x)", "optional.of({})"),
    *("optional.none()", "optional.ofNonZeroValue({})", "lists.range({})", "matches({}, {})"),
    *("sets.contains({}, {})", "sets.intersects({}, {})", "cel.bind(x, {}, {})", "!{}", "-{}"),
    *("[{}]", "[{}, {}]", "[?{}]", "{{{}: {}}}", '{{"a": {}, "b": {}}}', '{{?"a": {}}}'),
    *("({} ? {} : {})", "({})", "{}[{}]", "{}[?{}]"),
)


def expressions(variables: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    """Texts that parse more often than not, and have a type now and then."""
    leaf = st.sampled_from((*LEAVES, *variables, "x", "k", "v"))
    return st.recursive(leaf, _larger, max_leaves=8)


def _larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(part, st.sampled_from(OPERATORS), part).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
        st.tuples(st.sampled_from(METHODS), part, part, part).map(
            lambda t: f"({t[1]}).{t[0].format(t[2], t[3])}"
        ),
        st.tuples(st.sampled_from(FUNCTIONS), part, part, part).map(lambda t: t[0].format(*t[1:])),
    )


def broken_texts() -> st.SearchStrategy[str]:
    """Texts of the right characters in the wrong places."""
    pieces = st.sampled_from((*LEAVES, *OPERATORS, *".,?:()[]{}!-`'\"\\\n#", "device", "has(", "é"))
    return st.lists(pieces, max_size=12).map("".join)
