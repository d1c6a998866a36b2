"""The loop every controller runs in: look at what changed, then bring what it concerns in order.

A controller says which keys an event concerns and puts one key in order at a time; keys that come
up several times meanwhile are worked on once. A conflict only means that the key comes again.
"""

import asyncio
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
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

    def reconcile(self, key: KeyT) -> float | None:
        """Bring what the key stands for in order, as of now; in how many seconds to look again."""


async def run(cluster: Cluster, controller: Controller[KeyT]) -> None:
    """Keep the controller's aspect in order until cancelled."""
    position = cluster.store.revision
    events: list[Event] = list(present(cluster))
    later: dict[KeyT, float] = {}
    now = asyncio.get_running_loop().time
    while True:
        due = [key for key, at in later.items() if at <= now()]
        concerned = [key for event in events for key in controller.concerns(event)]
        for key in dict.fromkeys((*due, *concerned)):
            later.pop(key, None)
            seconds = reconcile(controller, key)
            if seconds is not None:
                later[key] = now() + seconds
        with suppress(TimeoutError):
            async with asyncio.timeout_at(min(later.values(), default=None)):
                await cluster.store.wait_beyond(position)
        events = list(cluster.store.events_after(position))
        position = events[-1].revision if events else position


def present(cluster: Cluster) -> Iterator[Event]:
    """Everything there is, told as if it had just been added."""
    for resource in RESOURCES:
        for obj in list(cluster.scan(resource)):
            version = int(obj["metadata"]["resourceVersion"])
            yield Event(version, Change.ADDED, resource, None, obj)


def reconcile(controller: Controller[KeyT], key: KeyT) -> float | None:
    """Bring one key in order; a refusal is told, unless it will come again by itself."""
    try:
        return controller.reconcile(key)
    except ApiError as refusal:
        if refusal.code not in RETRIED:
            log.warning(
                "a controller was refused",
                controller=type(controller).__name__,
                key=str(key),
                answer=refusal.message,
            )
        return None
