"""The API server without HTTP: every verb, with the answers a client outside would get.

Reads return stored objects, which nobody may change; writes take whole objects or a function that
makes the new one from the stored one. All is synchronous: between a check and its write nothing
else happens.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from uuid import uuid4

import msgspec

from dra_devcluster.api import strategy
from dra_devcluster.api.admission import admit
from dra_devcluster.api.deletion import (
    Deletion,
    check_preconditions,
    grace_seconds,
    is_finished,
    marked,
)
from dra_devcluster.api.errors import (
    ApiError,
    already_exists,
    conflict,
    forbidden,
    invalid,
    invalid_field,
    not_found,
    required_field,
)
from dra_devcluster.api.resources import NAMESPACES, Key, Object, Resource, key_of
from dra_devcluster.api.schema import Strictness, shape
from dra_devcluster.api.store import Store
from dra_devcluster.api.timestamps import Clock, timestamp, utc_now
from dra_devcluster.api.validation import Write, validate

ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
BUILT_IN: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
HISTORY: Final = 10_000
"""How many changes a watch may be behind before it is told to list again."""


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a write is to be taken; ``warnings`` collects what the caller should be told."""

    strictness: Strictness = Strictness.IGNORE
    dry_run: bool = False
    subresource: str = ""
    warnings: list[str] = []


PLAIN: Final = WriteOptions()
STATUS: Final = WriteOptions(subresource="status")
AT_ONCE: Final = Deletion()


class Cluster:
    """All objects of one cluster behind the rules of the API.

    Versions begin at the clock's milliseconds, so that those of an earlier life are too old.
    """

    def __init__(self, clock: Clock = utc_now, history: int = HISTORY) -> None:
        self.store = Store(history, first=int(clock().timestamp() * 1000))
        self._clock = clock
        for name in BUILT_IN:
            self.create(NAMESPACES, "", {"metadata": {"name": name}})
        self.store.forget_history()

    def now(self) -> str:
        """The server's time, as it writes it into objects."""
        return timestamp(self._clock())

    def get(self, resource: Resource, key: Key) -> Object:
        """The stored object. Raises NotFound (404)."""
        obj = self.store.get(resource, key)
        if obj is None:
            raise not_found(resource, key.name)
        return obj

    def find(self, resource: Resource, key: Key) -> Object | None:
        """The stored object, or None."""
        return self.store.get(resource, key)

    def scan(self, resource: Resource, namespace: str = "") -> Iterator[Object]:
        """All stored objects of a kind, of one namespace if one is named."""
        return self.store.scan(resource, namespace)

    def create(
        self, resource: Resource, namespace: str, body: Any, options: WriteOptions = PLAIN
    ) -> Object:
        """Store a new object; returns it as stored, or as it would have been if dry."""
        obj = self._shaped(resource, body, options)
        metadata = {**obj.get("metadata", {})}
        _check_place(metadata, namespace)
        if metadata.get("resourceVersion"):
            raise ApiError(500, "resourceVersion should not be set on objects to be created")
        if namespace:
            metadata["namespace"] = namespace
            self._check_namespace(resource, namespace, metadata.get("name", ""))
        metadata["name"] = self._name_for(resource, metadata)
        created = strategy.for_create(
            resource, {**obj, "metadata": metadata}, str(uuid4()), self.now()
        )
        labels = self._namespace_labels(namespace)
        admit(resource, created, labels)
        validate(Write(resource=resource, new=created, admin=_may_have_admin_access(labels)))
        if self.store.get(resource, key_of(created)):
            raise already_exists(resource, metadata["name"])
        return created if options.dry_run else self.store.put(resource, created)

    def replace(
        self, resource: Resource, key: Key, body: Any, options: WriteOptions = PLAIN
    ) -> Object:
        """PUT: the body is the whole new object. A uid in it must be the stored one's."""
        old = self.get(resource, key)
        uid = body.get("metadata", {}).get("uid") if isinstance(body, dict) else None
        if uid:
            check_preconditions(resource, old, Deletion(preconditions={"uid": uid}))
        return self.change(resource, key, lambda _: body, options)

    def change(
        self,
        resource: Resource,
        key: Key,
        transform: Callable[[Object], Any],
        options: WriteOptions = PLAIN,
    ) -> Object:
        """PATCH: ``transform`` makes the new object from the stored one, which it may not touch.

        A resourceVersion in the result that is not the stored one's is a Conflict (409). A result
        that changes nothing is not written. Returns the object as it now is.
        """
        old = self.get(resource, key)
        new = self._shaped(resource, transform(old), options)
        check_identity(new.setdefault("metadata", {}), key)
        version = new["metadata"].get("resourceVersion") or old["metadata"]["resourceVersion"]
        if version != old["metadata"]["resourceVersion"]:
            raise conflict(resource, key.name)
        if new["metadata"].get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise _uid_is_immutable(resource, key.name, new["metadata"]["uid"])
        prepared = self._prepared(resource, new, old, options.subresource)
        labels = self._namespace_labels(key.namespace)
        validate(
            Write(
                resource=resource,
                new=prepared,
                old=old,
                subresource=options.subresource,
                admin=_may_have_admin_access(labels),
            )
        )
        if options.dry_run or prepared == old:
            return prepared
        stored = self.store.put(resource, prepared)
        return self.store.remove(resource, key) if is_finished(resource, stored) else stored

    def delete(self, resource: Resource, key: Key, deletion: Deletion = AT_ONCE) -> Object:
        """Delete, or mark for deletion while something holds the object; returns what it was."""
        obj = self.get(resource, key)
        check_preconditions(resource, obj, deletion)
        if deletion.dry_run:
            return obj
        grace = grace_seconds(resource, obj, deletion)
        doomed = marked(resource, obj, grace, self.now())
        if is_finished(resource, doomed):
            return self.store.remove(resource, key)
        return obj if doomed == obj else self.store.put(resource, doomed)

    def _shaped(self, resource: Resource, body: Any, options: WriteOptions) -> Object:
        _check_kind(resource, body)
        shaped = shape(body, resource.kind, options.strictness)
        options.warnings.extend(shaped.warnings)
        return shaped.obj

    def _prepared(self, resource: Resource, new: Object, old: Object, subresource: str) -> Object:
        if subresource == "status":
            return strategy.for_status(resource, new, old)
        if subresource == "finalize":
            return {**old, "spec": new.get("spec", {})}
        return strategy.for_update(resource, new, old, self.now())

    def _check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        found = self.get(NAMESPACES, Key("", namespace))
        if "deletionTimestamp" in found["metadata"]:
            why = (
                f"unable to create new content in namespace {namespace} because it is being"
                " terminated"
            )
            raise forbidden(resource, name, why)

    def _namespace_labels(self, namespace: str) -> dict[str, str]:
        found = self.store.get(NAMESPACES, Key("", namespace))
        labels: dict[str, str] = found["metadata"].get("labels", {}) if found else {}
        return labels

    def _name_for(self, resource: Resource, metadata: Object) -> str:
        if name := metadata.get("name"):
            return str(name)
        prefix = metadata.get("generateName")
        if not prefix:
            missing = required_field("metadata.name", "name or generateName is required")
            raise invalid(resource, "", [missing])
        digest = hashlib.sha256(f"{prefix}{self.store.revision}".encode()).digest()
        suffix = "".join(SUFFIX_LETTERS[byte % len(SUFFIX_LETTERS)] for byte in digest[:5])
        return f"{prefix[:58]}{suffix}"


def _may_have_admin_access(namespace_labels: Mapping[str, str]) -> bool:
    return namespace_labels.get(ADMIN_LABEL) == "true"


def _check_kind(resource: Resource, body: Any) -> None:
    if not isinstance(body, dict):
        raise ApiError(400, "the body of the request must be one object")
    kind, version = body.get("kind", resource.kind), body.get("apiVersion", resource.api_version)
    if (kind, version) != (resource.kind, resource.api_version):
        raise ApiError(
            400,
            f"the API version in the data ({version}, Kind={kind}) does not match the expected"
            f" API version ({resource.api_version}, Kind={resource.kind})",
        )


def _check_place(metadata: Object, namespace: str) -> None:
    if metadata.get("namespace", namespace) != namespace:
        raise ApiError(
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        )


def check_identity(metadata: Object, key: Key) -> None:
    """Fills in name and namespace as the URL has them. Raises BadRequest (400) if they differ."""
    _check_place(metadata, key.namespace)
    if metadata.setdefault("name", key.name) != key.name:
        raise ApiError(
            400,
            f"the name of the object ({metadata['name']}) does not match the name on the URL"
            f" ({key.name})",
        )
    if key.namespace:
        metadata["namespace"] = key.namespace


def _uid_is_immutable(resource: Resource, name: str, uid: str) -> ApiError:
    return invalid(resource, name, [invalid_field("metadata.uid", uid, "field is immutable")])
