"""How large a device's parts can be, as the API declares them."""

from collections.abc import Mapping
from typing import Final

import msgspec


class Declared(msgspec.Struct, frozen=True):
    """The greatest size of a value, and what is declared of its parts."""

    size: int
    fields: Mapping[str, "Declared"] = {}
    key: "Declared | None" = None
    element: "Declared | None" = None


_ENTRIES: Final = 32
_DOMAIN: Final = Declared(63)
_IDENTIFIER: Final = Declared(32)
_ATTRIBUTE: Final = Declared(64)
_ATTRIBUTES: Final = Declared(_ENTRIES, key=_IDENTIFIER, element=_ATTRIBUTE)
_CAPACITIES: Final = Declared(_ENTRIES, key=_IDENTIFIER, element=Declared(0))
_DEVICE: Final = Declared(
    0,
    {
        "driver": Declared(63),
        "allowMultipleAllocations": Declared(1),
        "attributes": Declared(_ENTRIES, key=_DOMAIN, element=_ATTRIBUTES),
        "capacity": Declared(_ENTRIES, key=_DOMAIN, element=_CAPACITIES),
    },
)


def declared_size(path: tuple[str, ...]) -> int | None:
    """
    The greatest size at a path from a variable, None if nothing is declared there.

    Steps are names of fields, ``@keys``, ``@values`` and ``@items``. An attribute may also
    be a step by its name; a domain or a capacity may not.
    """
    if not path or path[0] != "device":
        return None
    found: Declared | None = _DEVICE
    for step in path[1:]:
        found = _step(found, step)
        if found is None:
            return None
    return found.size if found is not None else None


def _step(at: Declared | None, step: str) -> Declared | None:
    if at is None:
        return None
    match step:
        case "@items" | "@values":
            return at.element
        case "@keys":
            return at.key
        case _ if step in at.fields:
            return at.fields[step]
        case _:
            return at.element if at.element is _ATTRIBUTE else None
