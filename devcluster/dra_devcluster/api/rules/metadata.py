"""Rules that hold for the metadata of every kind."""

from collections.abc import Iterator
from typing import Final

from dra_devcluster.api.errors import FieldError, forbidden_field, invalid_field, required_field
from dra_devcluster.api.names import (
    LABEL_RULE,
    SUBDOMAIN_RULE,
    is_label,
    is_qualified_name,
    is_subdomain,
)
from dra_devcluster.api.resources import NAMESPACES, Object, Resource

LABEL_VALUE_LIMIT: Final = 63


def check_metadata(resource: Resource, obj: Object) -> Iterator[FieldError]:
    """Name, labels, finalizers and owners of a new or changed object."""
    metadata = obj["metadata"]
    yield from _check_name(resource, metadata["name"])
    for key, value in metadata.get("labels", {}).items():
        if not is_qualified_name(key):
            yield invalid_field("metadata.labels", key, "name part must be a qualified name")
        if len(value) > LABEL_VALUE_LIMIT or (value and not is_qualified_name(value)):
            yield invalid_field("metadata.labels", value, "a valid label must be an empty string or"
                                " consist of alphanumeric characters, '-', '_' or '.'")  # fmt: skip
    for name in metadata.get("finalizers", []):
        if not is_qualified_name(name):
            yield invalid_field("metadata.finalizers", name, "name is not a qualified name")
    yield from _check_owners(metadata.get("ownerReferences", []))


def _check_name(resource: Resource, name: str) -> Iterator[FieldError]:
    if resource == NAMESPACES:
        if not is_label(name):
            yield invalid_field("metadata.name", name, LABEL_RULE)
    elif not is_subdomain(name):
        yield invalid_field("metadata.name", name, SUBDOMAIN_RULE)


def _check_owners(owners: list[Object]) -> Iterator[FieldError]:
    for index, owner in enumerate(owners):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                yield required_field(f"metadata.ownerReferences[{index}].{field}")
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        why = "Only one reference can have Controller set to true"
        yield invalid_field("metadata.ownerReferences", len(owners), why)


def check_metadata_change(new: Object, old: Object) -> Iterator[FieldError]:
    """An object on its way out takes no new finalizers."""
    added = set(new["metadata"].get("finalizers", [])) - set(old["metadata"].get("finalizers", []))
    if added and old["metadata"].get("deletionTimestamp"):
        names = ", ".join(f'"{name}"' for name in sorted(added))
        why = (
            "no new finalizers can be added if the object is being deleted, found new finalizers"
            f" []string{{{names}}}"
        )
        yield forbidden_field("metadata.finalizers", why)
