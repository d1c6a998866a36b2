"""Garbage collection: what belonged to an object that is gone goes too, and a namespace last.

Owners are looked up by uid. Always in the background: dependents go after their owner.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from dra_devcluster.api.cluster import Cluster, WriteOptions
from dra_devcluster.api.resources import NAMESPACES, RESOURCES, Key, Object, Resource, key_of
from dra_devcluster.api.store import Change, Event
from dra_devcluster.api.timestamps import moment

FINALIZE: Final = WriteOptions(subresource="finalize")
GRACE: Final = 5.0
"""Seconds that a deleted namespace is left alone, as Kubernetes' controller does: so a client that
deletes a namespace and then, one by one, what is in it finds it all."""

BY_KIND: Final = {(resource.api_version, resource.kind): resource for resource in RESOURCES}


class Dependent(msgspec.Struct, frozen=True):
    """An object whose owners are to be looked for."""

    resource: Resource
    key: Key


class GarbageCollector:
    """Deletes objects all of whose owners are gone."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._dependents: dict[str, set[Dependent]] = {}
        """Owner's uid to what has named it as owner."""

    def concerns(self, event: Event) -> Iterator[Dependent]:
        """An object with owners when it appears; all dependents of an object that went."""
        metadata = event.after["metadata"]
        dependent = Dependent(event.resource, key_of(event.after))
        if event.change is Change.DELETED:
            yield from sorted(self._dependents.pop(metadata["uid"], set()), key=lambda one: one.key)
            return
        for owner in metadata.get("ownerReferences", []):
            self._dependents.setdefault(owner["uid"], set()).add(dependent)
            yield dependent

    def reconcile(self, key: Dependent) -> None:
        """Delete the object unless an owner is there, or is of a kind nobody serves here."""
        found = self._cluster.find(key.resource, key.key)
        if found is None or "deletionTimestamp" in found["metadata"]:
            return
        owners = found["metadata"].get("ownerReferences", [])
        if owners and not any(self._is_present(owner, key.key.namespace) for owner in owners):
            self._cluster.delete(key.resource, key.key)

    def _is_present(self, owner: Object, namespace: str) -> bool:
        resource = BY_KIND.get((owner["apiVersion"], owner["kind"]))
        if resource is None:
            return True
        place = Key(namespace if resource.namespaced else "", owner["name"])
        found = self._cluster.find(resource, place)
        return found is not None and found["metadata"]["uid"] == owner["uid"]


class NamespaceController:
    """Empties a deleted namespace after a while, then lets it go."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def concerns(self, event: Event) -> Iterator[str]:
        """A changed namespace, and the namespace of an object that went."""
        metadata = event.after["metadata"]
        if event.resource == NAMESPACES:
            yield metadata["name"]
        elif event.change is Change.DELETED and "namespace" in metadata:
            yield metadata["namespace"]

    def reconcile(self, key: str) -> float | None:
        """Delete what is in the namespace; finalize it once nothing is."""
        namespace = self._cluster.find(NAMESPACES, Key("", key))
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            return None
        deleted = moment(namespace["metadata"]["deletionTimestamp"])
        pause = GRACE - (moment(self._cluster.now()) - deleted).total_seconds()
        if pause > 0:
            return pause
        left = [(kind, obj) for kind in RESOURCES for obj in self._contents(kind, key)]
        for resource, obj in left:
            if "deletionTimestamp" not in obj["metadata"]:
                self._cluster.delete(resource, key_of(obj))
        if not left:
            finalized = {**namespace, "spec": {"finalizers": []}}
            self._cluster.replace(NAMESPACES, Key("", key), finalized, FINALIZE)
        return None

    def _contents(self, resource: Resource, namespace: str) -> list[Object]:
        return list(self._cluster.scan(resource, namespace)) if resource.namespaced else []
