"""Rules for CEL selectors: as many and as long as Kubernetes takes, and none that it cannot compile.

A new selector is compiled with what this release lets in, as kube-apiserver does, and refused in
its words. Of several faults in one expression only the first is named.
"""

import re
from collections.abc import Iterator
from typing import Final

from dra_devcluster.api.errors import FieldError, forbidden_field, invalid_field, required_field
from dra_devcluster.api.resources import Object
from kube_cel import CompileError, CompileErrorKind, Environment

SELECTOR_LIMIT: Final = 32
LENGTH_LIMIT: Final = 10 * 1024
COST_LIMIT: Final = 1_000_000
ENVIRONMENT: Final = Environment(stored=False)
PLACE: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): ")


def check_selectors(selectors: list[Object], field: str) -> Iterator[FieldError]:
    """The selectors of a request or of a class."""
    if len(selectors) > SELECTOR_LIMIT:
        problem = f"Too many: {len(selectors)}: must have at most {SELECTOR_LIMIT} items"
        yield FieldError(field, problem, reason="FieldValueTooMany")
    for index, selector in enumerate(selectors):
        cel = selector.get("cel")
        if cel is None:
            yield required_field(f"{field}[{index}].cel")
        else:
            yield from _check_expression(
                cel.get("expression", ""), f"{field}[{index}].cel.expression"
            )


def _check_expression(text: str, field: str) -> Iterator[FieldError]:
    if len(text.encode()) > LENGTH_LIMIT:
        problem = f"Too long: may not be more than {LENGTH_LIMIT} bytes"
        yield FieldError(field, problem, reason="FieldValueTooLong")
        return
    try:
        program = ENVIRONMENT.compile(text)
    except CompileError as error:
        if error.kind is CompileErrorKind.INTERNAL:
            problem = f"Internal error: {error.message}"
            yield FieldError(field, problem, reason="InternalError")
        else:
            yield invalid_field(field, text, error.message + _shown(text, error.message))
        return
    if program.estimated_cost > COST_LIMIT:
        yield forbidden_field(field, "too complex, exceeds cost limit")


def _shown(text: str, message: str) -> str:
    """The line with the fault, and below it where."""
    place = PLACE.search(message)
    if place is None or not text:
        return ""
    line = text.split("\n")[int(place[1]) - 1]
    return f"\n | {line}\n | {'.' * (int(place[2]) - 1)}^"
