"""Regular expressions, by RE2: linear in the text whatever the pattern."""

from functools import lru_cache
from typing import Any, Final

import re2

from kube_cel.costs import estimate_search, searched
from kube_cel.declarations import CallSite, Function, Size
from kube_cel.errors import EvaluationError
from kube_cel.library.declare import function, method
from kube_cel.types import BOOL, INT, LIST_STRING, STRING

_CACHED_PATTERNS: Final = 1_024


@lru_cache(_CACHED_PATTERNS)
def compiled(pattern: str) -> Any:
    """The compiled pattern. Raises ``EvaluationError`` for one that RE2 refuses."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as fault:
        raise EvaluationError(f"error parsing regexp: {fault}") from None


def _matches(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


def _find(text: str, pattern: str) -> str:
    found = compiled(pattern).search(text)
    return "" if found is None else str(found[0])


def _find_all(text: str, pattern: str, limit: int = -1) -> tuple[str, ...]:
    expression = compiled(pattern)
    if limit == 0:
        return ()
    found: list[str] = []
    end = -1
    for match in expression.finditer(text):
        if match.end() == end == match.start():
            continue  # nothing, right behind a match: Go does not count it
        end = match.end()
        found.append(match[0])
        if len(found) == limit:
            break
    return tuple(found)


def _estimate_find(site: CallSite) -> tuple[int, Size | None]:
    return estimate_search(site)[0], Size(0, site.size(0).high)


LIBRARY: Final = (
    Function(
        "matches",
        (
            function(
                "matches",
                (STRING, STRING),
                BOOL,
                _matches,
                cost=searched,
                estimate=estimate_search,
            ),
            method(
                "matches_string",
                (STRING, STRING),
                BOOL,
                _matches,
                cost=searched,
                estimate=estimate_search,
            ),
        ),
    ),
    Function(
        "find",
        (method("string_find_string", (STRING, STRING), STRING, _find),),
        cost=searched,
        estimate=_estimate_find,
    ),
    Function(
        "findAll",
        (
            method("string_find_all_string", (STRING, STRING), LIST_STRING, _find_all),
            method("string_find_all_string_int", (STRING, STRING, INT), LIST_STRING, _find_all),
        ),
        cost=searched,
        estimate=_estimate_find,
    ),
)
