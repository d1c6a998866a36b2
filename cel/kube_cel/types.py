"""
The types that the checker reasons about, and how they are written in messages.

Only shapes: which type may stand for which is in ``inference``, and which Python class
carries a value of a type is in ``values``.
"""

from enum import StrEnum
from functools import lru_cache
from typing import Final

import msgspec


class Kind(StrEnum):
    """The shape of a type."""

    PRIMITIVE = "primitive"
    NULL = "null"
    LIST = "list"
    MAP = "map"
    OBJECT = "object"
    OPAQUE = "opaque"
    TYPE = "type"
    DYN = "dyn"
    ANY = "any"
    ERROR = "error"
    VARIABLE = "variable"


class Type(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A type: its shape, its name at run time, and its parameters."""

    kind: Kind
    name: str
    params: tuple["Type", ...] = ()

    def __str__(self) -> str:
        """How the checker's messages write it."""
        if self.kind in _SPOKEN:
            return _SPOKEN[self.kind]
        name = _SHORT_NAMES.get(self.name, self.name)
        if not self.params:
            return name
        return f"{name}({', '.join(map(str, self.params))})"


_SPOKEN: Final = {Kind.DYN: "dyn", Kind.ANY: "any", Kind.ERROR: "!error!", Kind.NULL: "null"}
_SHORT_NAMES: Final = {
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
}

BOOL: Final = Type(Kind.PRIMITIVE, "bool")
INT: Final = Type(Kind.PRIMITIVE, "int")
UINT: Final = Type(Kind.PRIMITIVE, "uint")
DOUBLE: Final = Type(Kind.PRIMITIVE, "double")
STRING: Final = Type(Kind.PRIMITIVE, "string")
BYTES: Final = Type(Kind.PRIMITIVE, "bytes")
DURATION: Final = Type(Kind.PRIMITIVE, "google.protobuf.Duration")
TIMESTAMP: Final = Type(Kind.PRIMITIVE, "google.protobuf.Timestamp")
NULL: Final = Type(Kind.NULL, "null_type")
DYN: Final = Type(Kind.DYN, "dyn")
ANY: Final = Type(Kind.ANY, "google.protobuf.Any")
ERROR: Final = Type(Kind.ERROR, "error")
A: Final = Type(Kind.VARIABLE, "A")
B: Final = Type(Kind.VARIABLE, "B")

DEVICE: Final = Type(Kind.OBJECT, "kubernetes.DRADevice")
QUANTITY: Final = Type(Kind.OBJECT, "kubernetes.Quantity")
SEMVER: Final = Type(Kind.OBJECT, "kubernetes.Semver")
URL: Final = Type(Kind.OBJECT, "kubernetes.URL")
FORMAT: Final = Type(Kind.OBJECT, "kubernetes.NamedFormat")
IP: Final = Type(Kind.OPAQUE, "net.IP")
CIDR: Final = Type(Kind.OPAQUE, "net.CIDR")


def list_of(element: Type) -> Type:
    """The list type with this element type."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """The map type with these key and value types."""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    """The type of an optional value."""
    return Type(Kind.OPAQUE, "optional_type", (value,))


def type_of(instance: Type) -> Type:
    """The type of a type name, such as ``int`` used as a value."""
    return Type(Kind.TYPE, "type", (instance,))


@lru_cache(maxsize=4_096)
def weight(type_: Type) -> int:
    """How many types a type is made of."""
    return 1 + sum(map(weight, type_.params))


@lru_cache(maxsize=4_096)
def is_ground(type_: Type) -> bool:
    """Whether the type has no variables in it."""
    return type_.kind is not Kind.VARIABLE and all(map(is_ground, type_.params))


def is_optional(candidate: Type) -> bool:
    """Whether values of this type may be absent."""
    return candidate.kind is Kind.OPAQUE and candidate.name == "optional_type"


COMPARABLE: Final = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
"""The types whose values have an order."""
LIST_A: Final = list_of(A)
LIST_DYN: Final = list_of(DYN)
LIST_STRING: Final = list_of(STRING)
MAP_AB: Final = map_of(A, B)
OPTIONAL_A: Final = optional_of(A)
TYPE_A: Final = type_of(A)

NAMED_TYPES: Final = {
    "bool": BOOL,
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "null_type": NULL,
    "list": LIST_DYN,
    "map": map_of(DYN, DYN),
    "type": Type(Kind.TYPE, "type"),
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "optional_type": OPTIONAL_A,
    "net.IP": IP,
    "net.CIDR": CIDR,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "google.protobuf.Any": ANY,
    "kubernetes.DRADevice": DEVICE,
}
"""Type names that an expression may use as values."""
VALUELESS_TYPES: Final = frozenset(
    {"timestamp", "duration", "google.protobuf.Any", "kubernetes.DRADevice"}
)
"""Type names that the checker knows, but that have no value when a program is made."""
