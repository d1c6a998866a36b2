"""The cost of going through a value once, which Kubernetes charges several functions."""

from typing import Any

from kube_cel.costs import TRAVERSAL
from kube_cel.declarations import CallSite, Size
from kube_cel.saturating import added, multiplied, scaled
from kube_cel.types import BYTES, STRING
from kube_cel.values.maps import DomainMap, key_value
from kube_cel.values.work import spend


def traversal(value: Any) -> int:
    """A tenth of a string's bytes, rounded down; the sum over what lists and maps hold."""
    kind = value.__class__
    if kind is str:
        return int(len(value.encode()) * TRAVERSAL)
    if kind is bytes:
        return int(len(value) * TRAVERSAL)
    if kind is tuple:
        spend(len(value))
        return sum(map(traversal, value))
    if kind is dict or kind is DomainMap:
        spend(len(value))
        return sum(traversal(key_value(key)) + traversal(item) for key, item in value.items())
    return 1


def traversed(first: object, *_rest: object) -> int:
    """The cost of going through the first argument."""
    return traversal(first)


def estimate_traversed(site: CallSite) -> tuple[int, Size | None]:
    """The greatest cost of going through the first argument."""
    element = site.element_size(0)
    if element is None:
        return scaled(site.size(0).high, TRAVERSAL), None
    each = 1
    if site.type(0).params[0] in (STRING, BYTES):
        each = added(1, scaled(element.high, TRAVERSAL))
    return multiplied(site.size(0).high, each), None
