"""Old tags, read as what they mean today. The only place that knows the past.

Each entry turns the JSON object of a fact with a retired tag into one with its successor's.
There is none yet: v1 of every fact is current. Never reuse a tag, never edit an entry.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: Final[Mapping[str, Upcaster]] = MappingProxyType({})


def upcast(
    fact: dict[str, Any], upcasters: Mapping[str, Upcaster] = UPCASTERS
) -> dict[str, Any] | None:
    """The fact under its current tag, or None if its tag was never retired."""
    if fact.get("tag") not in upcasters:
        return None
    while (step := upcasters.get(fact["tag"])) is not None:
        fact = step(fact)
    return fact
