"""Label and field selectors, as they stand in ``?labelSelector=`` and ``?fieldSelector=``.

A selector is a predicate on objects; it knows nothing of lists and watches.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.resources import Object

Predicate = Callable[[Object], bool]

FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "Pod": frozenset(
        {
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
        }
    ),
    "Node": frozenset({"spec.unschedulable"}),
    "Namespace": frozenset({"status.phase"}),
    "ResourceSlice": frozenset({"spec.nodeName", "spec.driver"}),
    "Event": frozenset(
        {
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        }
    ),
}
ALWAYS: Final = frozenset({"metadata.name", "metadata.namespace"})
SET_BASED: Final = re.compile(r"^(\S+)\s+(in|notin)\s+\(([^)]*)\)$")
COMMA_OUTSIDE_PARENTHESES: Final = re.compile(r",(?![^(]*\))")


def read_field(obj: Object, path: str) -> str:
    """The field as field selectors compare it: text, empty when absent."""
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def field_selector(text: str, kind: str) -> Predicate:
    """What ``metadata.name=a,spec.nodeName!=b`` selects. Raises BadRequest (400)."""
    terms: list[tuple[str, str, bool]] = []
    for term in filter(None, text.split(",")):
        path, operator, value = (
            re.split(r"(!=|==|=)", term, maxsplit=1) if "=" in term else ("", "", "")
        )
        if not operator:
            raise ApiError(400, f"invalid selector: '{term}'; can't understand '{term}'")
        if path not in ALWAYS | FIELDS.get(kind, frozenset()):
            raise ApiError(400, f'field label not supported: "{path}"')
        terms.append((path, value, operator != "!="))
    return lambda obj: all((read_field(obj, path) == value) is same for path, value, same in terms)


def label_selector(text: str) -> Predicate:
    """What ``a=b,c!=d,e,!f,g in (h,i)`` selects. Raises BadRequest (400)."""
    terms = [
        _label_term(term.strip()) for term in COMMA_OUTSIDE_PARENTHESES.split(text) if term.strip()
    ]
    return lambda obj: all(term(obj["metadata"].get("labels") or {}) for term in terms)


def _label_term(term: str) -> Callable[[Mapping[str, str]], bool]:
    if found := SET_BASED.match(term):
        key, operator, values = found[1], found[2], {word.strip() for word in found[3].split(",")}
        return lambda labels: (labels.get(key) in values) is (operator == "in")
    if "=" in term:
        key, operator, value = (part.strip() for part in re.split(r"(!=|==|=)", term, maxsplit=1))
        return lambda labels: (labels.get(key) == value) is (operator != "!=")
    if " " in term:
        raise ApiError(400, f"unable to parse requirement: {term}")
    if term.startswith("!"):
        return lambda labels: term[1:] not in labels
    return lambda labels: term in labels


def both(first: Predicate, second: Predicate) -> Predicate:
    """Selects what both select."""
    return lambda obj: first(obj) and second(obj)
