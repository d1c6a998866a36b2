"""Strings: the standard functions and the extension of CEL's ``strings`` library."""

from typing import Final

from kube_cel import costs
from kube_cel.costs import TRAVERSAL, tenth
from kube_cel.declarations import CallSite, Function, Size
from kube_cel.errors import EvaluationError
from kube_cel.library.declare import function, method
from kube_cel.saturating import WRAP, added, multiplied, scaled
from kube_cel.syntax import Literal
from kube_cel.types import BOOL, INT, LIST_STRING, STRING
from kube_cel.values.equality import size
from kube_cel.values.work import CHARACTERS, spend

_SPACES: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def _in_range(position: int, length: int) -> int:
    if not 0 <= position <= length:
        raise EvaluationError(f"index out of range: {position}")
    return position


def _char_at(text: str, position: int) -> str:
    return text[_in_range(position, len(text)) : position + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    _not_negative(start)
    return text.find(part, start) if part else min(start, len(text))


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    _not_negative(start)
    if not part:
        return min(start, len(text))
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


def _not_negative(position: int) -> None:
    if position < 0:
        raise EvaluationError(f"index out of range: {position}")


def _substring(text: str, start: int, end: int | None = None) -> str:
    _in_range(start, len(text))
    if end is None:
        return text[start:]
    if _in_range(end, len(text)) < start:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def _split(text: str, separator: str, limit: int = -1) -> tuple[str, ...]:
    if limit == 0:
        return ()
    if separator == "":
        parts = list(text)
        if 0 < limit < len(parts):
            parts[limit - 1 :] = ["".join(parts[limit - 1 :])]
        return tuple(parts)
    return tuple(text.split(separator, limit - 1 if limit > 0 else -1))


def _join(texts: tuple[str, ...], separator: str = "") -> str:
    if not all(text.__class__ is str for text in texts):
        raise EvaluationError("no such overload: join")
    spend(len(texts))
    spend((sum(map(len, texts)) + len(separator) * len(texts)) // CHARACTERS)
    return separator.join(texts)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    times = text.count(old) if limit < 0 else min(text.count(old), limit)
    spend((len(text) + times * len(new)) // CHARACTERS)
    return text.replace(old, new, times)


_QUOTED: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def _quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(c, c) for c in text) + '"'


def _contains_cost(text: object, part: object) -> int:
    return tenth(size(text)) * tenth(size(part))


def _estimate_contains(site: CallSite) -> tuple[int, Size | None]:
    text, part = (scaled(site.size(i).high, TRAVERSAL) for i in (0, 1))
    return multiplied(text, part), None


def _estimate_join(site: CallSite) -> tuple[int, Size | None]:
    count, element = site.size(0), site.element_size(0)
    low = high = 0
    if element is not None:
        low, high = multiplied(count.low, element.low), multiplied(count.high, element.high)
    if site.count() > 1:
        separator = site.size(1)
        low = added(low, multiplied(separator.low, max(count.low - 1, 0)))
        high = added(high, multiplied(separator.high, max(count.high - 1, 0)))
    return scaled(high, TRAVERSAL), Size(low, high)


def _estimate_split(site: CallSite) -> tuple[int, Size | None]:
    text = site.size(0)
    parts = text.high
    if site.count() > 2:  # noqa: PLR2004 - text, separator, limit
        limit = site.node(2)
        if isinstance(limit, Literal) and isinstance(limit.value, int):
            parts = limit.value % WRAP
    return scaled(text.high, 2 * TRAVERSAL), Size(0, parts)


def _estimate_replace(site: CallSite) -> tuple[int, Size | None]:
    text, old, new = site.size(0), site.size(1), site.size(2)
    if old.low == 0:
        longest = added(multiplied(added(text.high, 1), new.high), text.high)
    elif new.high <= old.low:
        longest = text.high
    else:
        longest = multiplied(-int(-float(text.high) // old.low), new.high)
    return scaled(text.high, 2 * TRAVERSAL), Size(_shortest(text, old, new), longest)


def _shortest(text: Size, old: Size, new: Size) -> int:
    if old.high == 0:
        return added(multiplied(added(text.low, 1), new.low), text.low)
    if old.high <= new.low:
        return text.low
    return multiplied(-int(-float(text.low) // old.high), new.low)


def _estimate_quote(site: CallSite) -> tuple[int, Size | None]:
    text = site.size(0)
    result = Size(text.low + 2, (text.high * 2 + 2) % WRAP)
    return scaled(text.high, TRAVERSAL), result


_KEEPS: Final = costs.estimate_traversal(keeps_size=True)
_SECOND: Final = costs.estimate_traversal(1)
_TWO: Final = (STRING, STRING)
_TWO_INT: Final = (STRING, STRING, INT)
_THREE: Final = (STRING, STRING, STRING)

LIBRARY: Final = (
    Function(
        "contains",
        (
            method(
                "contains_string",
                _TWO,
                BOOL,
                lambda text, part: part in text,
                cost=_contains_cost,
                estimate=_estimate_contains,
            ),
        ),
    ),
    Function(
        "startsWith",
        (
            method(
                "starts_with_string",
                _TWO,
                BOOL,
                str.startswith,
                cost=costs.second_traversed,
                estimate=_SECOND,
            ),
        ),
    ),
    Function(
        "endsWith",
        (
            method(
                "ends_with_string",
                _TWO,
                BOOL,
                str.endswith,
                cost=costs.second_traversed,
                estimate=_SECOND,
            ),
        ),
    ),
    Function("charAt", (method("string_char_at_int", (STRING, INT), STRING, _char_at),)),
    Function(
        "indexOf",
        (
            method("string_index_of_string", _TWO, INT, _index_of),
            method("string_index_of_string_int", _TWO_INT, INT, _index_of),
        ),
    ),
    Function(
        "lastIndexOf",
        (
            method("string_last_index_of_string", _TWO, INT, _last_index_of),
            method("string_last_index_of_string_int", _TWO_INT, INT, _last_index_of),
        ),
    ),
    Function(
        "lowerAscii",
        (method("string_lower_ascii", (STRING,), STRING, lambda t: t.translate(_LOWER)),),
        cost=costs.first_traversed,
        estimate=_KEEPS,
    ),
    Function(
        "upperAscii",
        (method("string_upper_ascii", (STRING,), STRING, lambda t: t.translate(_UPPER)),),
        cost=costs.first_traversed,
        estimate=_KEEPS,
    ),
    Function(
        "trim",
        (method("string_trim", (STRING,), STRING, lambda text: text.strip(_SPACES)),),
        cost=costs.first_traversed,
        estimate=_KEEPS,
    ),
    Function(
        "substring",
        (
            method("string_substring_int", (STRING, INT), STRING, _substring),
            method("string_substring_int_int", (STRING, INT, INT), STRING, _substring),
        ),
        cost=costs.first_traversed,
        estimate=_KEEPS,
    ),
    Function(
        "replace",
        (
            method("string_replace_string_string", _THREE, STRING, _replace),
            method("string_replace_string_string_int", (*_THREE, INT), STRING, _replace),
        ),
        cost=costs.first_rebuilt,
        estimate=_estimate_replace,
    ),
    Function(
        "split",
        (
            method("string_split_string", _TWO, LIST_STRING, _split),
            method("string_split_string_int", _TWO_INT, LIST_STRING, _split),
        ),
        cost=costs.first_rebuilt,
        estimate=_estimate_split,
    ),
    Function(
        "join",
        (
            method("list_join", (LIST_STRING,), STRING, _join, result_cost=costs.first_rebuilt),
            method(
                "list_join_string",
                (LIST_STRING, STRING),
                STRING,
                _join,
                result_cost=costs.first_rebuilt,
            ),
        ),
        estimate=_estimate_join,
    ),
    Function(
        "strings.quote",
        (
            function(
                "strings_quote",
                (STRING,),
                STRING,
                _quote,
                cost=costs.first_traversed,
                estimate=_estimate_quote,
            ),
        ),
    ),
)
