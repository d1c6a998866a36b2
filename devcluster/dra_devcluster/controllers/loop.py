"""The loop every controller runs in: look at what changed, then bring what it concerns in order.

A controller says which keys an event concerns and puts one key in order at a time; keys that come
up several times meanwhile are worked on once. A conflict only means that the key comes again.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Final, Protocol, TypeVar

import structlog

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.resources import RESOURCES
from dra_devcluster.api.store import Change, Event

KeyT = TypeVar("KeyT", bound=Hashable)
RETRIED: Final = (404, 409)
"""The object moved under the controller: the event that did it brings the key back."""
log = structlog.get_logger()


class Controller(Protocol[KeyT]):
    """Something that keeps one aspect of the cluster in order."""

    def concerns(self, event: Event) -> Iterable[KeyT]:
        """What has to be looked at again because of a change."""

    def reconcile(self, key: KeyT) -> None:
        """Bring what the key stands for in order, as of now."""


async def run(cluster: Cluster, controller: Controller[KeyT]) -> None:
    """Keep the controller's aspect in order until cancelled."""
    position = cluster.store.revision
    reconcile_all(controller, present(cluster))
    while True:
        await cluster.store.wait_beyond(position)
        events = list(cluster.store.events_after(position))
        position = events[-1].revision
        reconcile_all(controller, events)


def present(cluster: Cluster) -> Iterator[Event]:
    """Everything there is, told as if it had just been added."""
    for resource in RESOURCES:
        for obj in list(cluster.scan(resource)):
            version = int(obj["metadata"]["resourceVersion"])
            yield Event(version, Change.ADDED, resource, None, obj)


def reconcile_all(controller: Controller[KeyT], events: Iterable[Event]) -> None:
    """Look at every key that the events concern, once each, in the order they came up."""
    keys = dict.fromkeys(key for event in events for key in controller.concerns(event))
    for key in keys:
        try:
            controller.reconcile(key)
        except ApiError as refusal:
            if refusal.code not in RETRIED:
                log.warning(
                    "a controller was refused",
                    controller=type(controller).__name__,
                    key=str(key),
                    answer=refusal.message,
                )
