"""What an estimate knows of values: their sizes, the sizes of their parts, where they come from."""

from typing import Final, TypeAlias

import msgspec

from kube_cel.declarations import Size
from kube_cel.saturating import UNKNOWN
from kube_cel.syntax import ListLiteral, Literal, MapLiteral, Node
from kube_cel.types import BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT, Type, is_optional

ANY_SIZE: Final = Size(0, UNKNOWN)
ONE: Final = Size(1, 1)
_EMPTY: Final = Size(0, 0)
_SCALARS: Final = frozenset({BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT})
Path: TypeAlias = tuple[str, ...]
"""The way from a variable to a value: fields, ``@keys``, ``@values``, ``@items``."""


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of what a list or map holds."""

    is_list: bool
    key: Size
    value: Size


class Local(msgspec.Struct, frozen=True):
    """What is known of a variable."""

    path: Path
    size: Size | None
    contents: Contents | None


def union(sizes: list[Size]) -> Size:
    """A size that holds for each of these."""
    if not sizes:
        return _EMPTY
    return Size(min(size.low for size in sizes), max(size.high for size in sizes))


def literal_size(node: Node) -> Size | None:
    """The size of what is written out, None for anything else."""
    match node:
        case Literal(value=str() | bytes() as value):
            return Size(len(value), len(value))
        case Literal():
            return ONE
        case ListLiteral(elements=parts) | MapLiteral(entries=parts):
            return Size(len(parts), len(parts))
        case _:
            return None


def is_scalar(type_: Type) -> bool:
    """Whether all values of the type have size 1, also inside an optional."""
    return type_ in _SCALARS or (is_optional(type_) and is_scalar(type_.params[0]))
