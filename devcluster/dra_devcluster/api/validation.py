"""Finds the rules for an object and turns what they say into one ``Invalid`` answer."""

from collections.abc import Iterator

import msgspec

from dra_devcluster.api.errors import FieldError, invalid
from dra_devcluster.api.resources import CLAIMS, CLASSES, PODS, SLICES, TEMPLATES, Object, Resource
from dra_devcluster.api.rules.claims import (
    check_claim_change,
    check_claim_status,
    check_new_claim,
    check_template,
)
from dra_devcluster.api.rules.metadata import check_metadata, check_metadata_change
from dra_devcluster.api.rules.pods import check_new_pod, check_pod_change
from dra_devcluster.api.rules.requests import check_class
from dra_devcluster.api.rules.slices import check_slice


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One write as the rules see it."""

    resource: Resource
    new: Object
    old: Object | None = None
    subresource: str = ""
    admin: bool = False
    """The namespace carries the label that permits admin access."""


def validate(write: Write) -> None:
    """Raises ``Invalid`` (422) naming every broken rule."""
    problems = list(_problems(write))
    if problems:
        raise invalid(write.resource, write.new["metadata"].get("name", ""), problems)


def _problems(write: Write) -> Iterator[FieldError]:
    if write.subresource == "status":
        if write.resource == CLAIMS and write.old is not None:
            yield from check_claim_status(write.new, write.old, admin=write.admin)
        return
    yield from check_metadata(write.resource, write.new)
    if write.old is not None:
        yield from check_metadata_change(write.new, write.old)
    yield from _problems_of_kind(write)


def _problems_of_kind(write: Write) -> Iterator[FieldError]:
    new, old = write.new, write.old
    if write.resource == SLICES:
        yield from check_slice(new, old)
    elif write.resource == CLASSES:
        yield from check_class(new, old)
    elif write.resource == TEMPLATES:
        yield from check_template(new, old, admin=write.admin)
    elif write.resource == CLAIMS:
        yield from check_claim_change(new, old) if old else check_new_claim(new, admin=write.admin)
    elif write.resource == PODS:
        yield from check_pod_change(new, old) if old else check_new_pod(new)
