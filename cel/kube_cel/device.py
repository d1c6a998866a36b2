"""What a selector looks at: the ``device`` of one evaluation."""

from collections.abc import Mapping
from typing import Any

from kube_cel.errors import EvaluationError
from kube_cel.values.maps import DomainMap
from kube_cel.values.quantity import Quantity, parse_quantity
from kube_cel.values.semver import parse_semver

Attribute = Any
"""bool, int, str, Semver, or a tuple of one of them."""


class Device:
    """
    One device as a selector sees it; do not change it afterwards.

    ``attributes`` and ``capacity`` are by domain, then by identifier. An
    ``allow_multiple_allocations`` that is not set reads as false.
    """

    __slots__ = ("attributes", "capacity", "driver", "fields", "multiple")

    def __init__(
        self,
        driver: str,
        attributes: Mapping[str, Mapping[str, Attribute]],
        capacity: Mapping[str, Mapping[str, Quantity]],
        *,
        allow_multiple_allocations: bool | None = None,
    ) -> None:
        self.driver = driver
        self.attributes = DomainMap({d: dict(values) for d, values in attributes.items()})
        self.capacity = DomainMap({d: dict(values) for d, values in capacity.items()})
        self.multiple = bool(allow_multiple_allocations)
        self.fields: dict[str, object] = {
            "driver": driver,
            "attributes": self.attributes,
            "capacity": self.capacity,
            "allowMultipleAllocations": self.multiple,
        }


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
    selector.
    """
    by_domain: dict[str, dict[str, Attribute]] = {}
    for name, attribute in attributes.items():
        domain, identifier = _qualified(name, driver)
        try:
            by_domain.setdefault(domain, {})[identifier] = _value(attribute)
        except EvaluationError as error:
            raise EvaluationError(f"attribute {name}: {error.message}") from error
    capacities: dict[str, dict[str, Quantity]] = {}
    for name, amount in capacity.items():
        domain, identifier = _qualified(name, driver)
        capacities.setdefault(domain, {})[identifier] = parse_quantity(str(amount["value"]))
    return Device(
        driver, by_domain, capacities, allow_multiple_allocations=allow_multiple_allocations
    )


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _value(attribute: Mapping[str, Any]) -> Attribute:
    for field, read in _FIELDS:
        value = attribute.get(field)
        if value is not None:
            return read(value)
    raise EvaluationError("unsupported attribute value")


def _version(text: str) -> object:
    try:
        return parse_semver(text)
    except EvaluationError as error:
        raise EvaluationError(f"parse semantic version: {error.message}") from error


_FIELDS = (
    ("ints", tuple),
    ("bools", tuple),
    ("strings", tuple),
    ("versions", lambda texts: tuple(map(_version, texts))),
    ("int", int),
    ("bool", bool),
    ("string", str),
    ("version", _version),
)
