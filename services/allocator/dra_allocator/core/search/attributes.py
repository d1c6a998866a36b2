"""The values of a device's attributes, in the form in which constraints compare them.

A scalar is a set of one value; each value carries its type, so that 1, true and "1" differ.
What CEL makes of attributes is the business of `selectors`.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from dra_shared.kube.devices import Device, DeviceAttribute

Value = tuple[str, int | bool | str]
"""One value with the name of its type."""

Values = frozenset[Value]
"""All values of one attribute."""

UNREADABLE: Final[Values] = frozenset({("unreadable", "")})
"""An attribute that is there, but has no value that constraints can compare."""


class Alike(msgspec.Struct, frozen=True):
    """Devices by value of one attribute: a mask for each value. `odd`: those without one scalar."""

    masks: tuple[int, ...]
    odd: int


def find_attribute(device: Device, driver: str, name: str) -> DeviceAttribute | None:
    """Give the attribute of this fully qualified name; the driver's own may stand without domain."""
    attributes: Mapping[str, DeviceAttribute] = device.attributes or {}
    if (attribute := attributes.get(name)) is not None:
        return attribute
    domain, _, identifier = name.partition("/")
    return attributes.get(identifier) if domain == driver else None


def values_of(attribute: DeviceAttribute, *, lists: bool) -> Values:
    """Give the attribute's values; without the gate for lists (KEP-5491), those of a list are unreadable."""
    if lists:
        for kind, several in _lists(attribute):
            if several:
                return frozenset((kind, value) for value in several)
    for kind, one in _scalars(attribute):
        if one is not None:
            return frozenset({(kind, one)})
    return UNREADABLE


def _lists(attribute: DeviceAttribute) -> tuple[tuple[str, tuple[int | str, ...] | None], ...]:
    return (
        ("int", attribute.ints),
        ("bool", attribute.bools),
        ("string", attribute.strings),
        ("version", attribute.versions),
    )


def _scalars(attribute: DeviceAttribute) -> tuple[tuple[str, int | str | None], ...]:
    return (
        ("int", attribute.integer),
        ("bool", attribute.boolean),
        ("string", attribute.string),
        ("version", attribute.version),
    )
