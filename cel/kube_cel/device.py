"""What a selector looks at: the ``device`` of one evaluation."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from sys import intern
from typing import Any, Final

from kube_cel.errors import EvaluationError
from kube_cel.values.maps import DomainMap
from kube_cel.values.quantity import Quantity, parse_quantity
from kube_cel.values.semver import Semver, parse_semver

Attribute = Any
"""bool, int, str, Semver, or a tuple of one of them."""


_ORDINARY_LENGTH: Final = 512
_SHARED: Final = 4096
"""Different names, capacities and versions, of each kind, that are remembered for the next device."""


class Device:
    """
    One device as a selector sees it. It keeps the maps it is given: do not change them.

    ``attributes`` and ``capacity`` are by ``qualified`` name. An ``allow_multiple_allocations``
    that is not set reads as false. ``ordinary`` tells that no attribute is so long that going
    through it could come near a cost limit.
    """

    __slots__ = ("_fields", "attributes", "capacity", "driver", "multiple", "ordinary")

    def __init__(
        self,
        driver: str,
        attributes: dict[str, Attribute],
        capacity: dict[str, Quantity],
        *,
        allow_multiple_allocations: bool | None = None,
    ) -> None:
        self.driver = driver
        self.attributes = attributes
        self.capacity = capacity
        self.multiple = bool(allow_multiple_allocations)
        self.ordinary = all(map(_is_ordinary, attributes.values()))
        self._fields: dict[str, object] | None = None

    @property
    def fields(self) -> dict[str, object]:
        """The device as a value of an expression; made when it is first asked for."""
        if self._fields is None:
            self._fields = {
                "driver": self.driver,
                "attributes": _by_domain(self.attributes),
                "capacity": _by_domain(self.capacity),
                "allowMultipleAllocations": self.multiple,
            }
        return self._fields


def qualified(domain: str, identifier: str) -> str:
    """The name of an attribute or capacity with its domain, always the same object."""
    return intern(f"{domain}/{identifier}")


def _by_domain(values: Mapping[str, object]) -> DomainMap:
    """Values by domain, then by identifier; no domain has a slash."""
    domains: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        domain, _, identifier = name.partition("/")
        domains.setdefault(domain, {})[identifier] = value
    return DomainMap(domains)


def _is_ordinary(value: Attribute) -> bool:
    return value.__class__ not in (str, tuple) or len(value) <= _ORDINARY_LENGTH


def device_from(
    driver: str,
    attributes: Mapping[str, Mapping[str, Any]],
    capacity: Mapping[str, Mapping[str, Any]],
    *,
    allow_multiple_allocations: bool | None = None,
) -> Device:
    """
    A device from the maps of ``resource.k8s.io/v1``, as JSON decodes them.

    An attribute is ``{"string": ..}``, ``{"int": ..}`` and so on, a capacity
    ``{"value": "80Gi"}``; names without a domain go under the driver's. Raises
    ``EvaluationError`` for a value that no device may have: such a device fails every
    selector. Names, texts, versions and whole capacities are shared: thousands of devices
    have a few of them, and what they share stays in the processor's caches.
    """
    driver = intern(driver)
    values: dict[str, Attribute] = {}
    for name, attribute in attributes.items():
        try:
            values[_qualified(name, driver)] = _value(attribute)
        except EvaluationError as error:
            raise EvaluationError(f"attribute {name}: {error.message}") from error
    amounts = tuple((name, str(amount["value"])) for name, amount in capacity.items())
    return Device(
        driver,
        values,
        _capacities(driver, amounts),
        allow_multiple_allocations=allow_multiple_allocations,
    )


@lru_cache(maxsize=_SHARED)
def _capacities(driver: str, amounts: tuple[tuple[str, str], ...]) -> dict[str, Quantity]:
    return {_qualified(name, driver): parse_quantity(text) for name, text in amounts}


@lru_cache(maxsize=_SHARED)
def _qualified(name: str, driver: str) -> str:
    return intern(name) if "/" in name else qualified(driver, name)


def _value(attribute: Mapping[str, Any]) -> Attribute:
    for field in attribute if len(attribute) == 1 else _FIELDS:
        value, read = attribute.get(field), _FIELDS.get(field)
        if value is not None and read is not None:
            return read(value)
    raise EvaluationError("unsupported attribute value")


@lru_cache(maxsize=_SHARED)
def _version(text: str) -> Semver:
    try:
        return parse_semver(text)
    except EvaluationError as error:
        raise EvaluationError(f"parse semantic version: {error.message}") from error


_FIELDS: Final[Mapping[str, Callable[[Any], Attribute]]] = {
    "ints": tuple,
    "bools": tuple,
    "strings": tuple,
    "versions": lambda texts: tuple(map(_version, texts)),
    "int": int,
    "bool": bool,
    "string": intern,
    "version": _version,
}
"""How each field is read, the first of them that is set."""
