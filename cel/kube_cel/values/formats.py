"""Named formats: a name, a rule for strings, and how much Kubernetes charges for it."""

from collections.abc import Callable

import msgspec


class NamedFormat(msgspec.Struct, frozen=True):
    """``check`` gives what is wrong with a string, an empty tuple if nothing is."""

    name: str
    check: Callable[[str], tuple[str, ...]]
    pattern_size: int
