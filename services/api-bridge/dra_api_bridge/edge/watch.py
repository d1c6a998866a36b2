"""Follows one kind of objects: list, watch, and every legal way in which a watch may end.

A list is asked for only at the start and when the server no longer has the history behind our
version (410, in the stream or as the answer). Everything else resumes at the last version seen:
that of the list, of an event, or of a bookmark, never that of a listed item.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Final, Protocol
from urllib.parse import quote

import msgspec
import structlog
from prometheus_client import Counter

from dra_api_bridge.core.objects import SHAPES, Kind, KubeObject, address
from dra_api_bridge.core.observed import Change
from dra_api_bridge.edge.api import Api, ApiRefusedError, ApiUnreachableError
from dra_shared.kube.meta import ListMeta

PAGE: Final = 2000
WATCH_SECONDS: Final = 60
"""The server ends a watch after this; a connection that died unnoticed is found out soon after."""

GONE: Final = 410
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
LONG_ENOUGH: Final = 2.0
"""A watch that lasted this long was a good one, even without an event. Others slow us down."""

CLOSED: Final = "closed"

LISTS: Final = Counter("dra_bridge_lists_total", "Lists that were asked for", ["kind"])
ENDS: Final = Counter("dra_bridge_watch_ends_total", "How watches ended", ["kind", "how"])
UNREADABLE: Final = Counter("dra_bridge_unreadable_total", "Objects that made no sense", ["kind"])

_log = structlog.get_logger()


class Audience(Protocol):
    """Who wants to hear of changes."""

    def listed(self, kind: Kind, objects: Sequence[KubeObject], version: int) -> None:
        """These are all objects of the kind, as of the version."""
        ...

    def changed(self, change: Change, version: int) -> None:
        """One object changed; the server's history of the kind is known up to the version."""
        ...

    def advanced(self, kind: Kind, version: int) -> None:
        """Nothing of the kind changed up to the version."""
        ...

    def lost(self, kind: Kind) -> None:
        """The server did not answer: when it does again, it may be another one."""
        ...


class ExpiredError(Exception):
    """The server has forgotten the history behind our version."""


class _List(msgspec.Struct):
    kind: str
    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Named(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Outline(msgspec.Struct):
    code: int = 0
    message: str = ""
    metadata: _Named = _Named()


_EVENT: Final = msgspec.json.Decoder(_Event)
_OUTLINE: Final = msgspec.json.Decoder(_Outline)


class Watch:
    """One kind under one path, such as /api/v1/pods."""

    silence = WATCH_SECONDS + 15.0
    """Seconds without a sign of the server after which the connection counts as dead."""

    def __init__(self, api: Api, kind: Kind, path: str, audience: Audience) -> None:
        self._api = api
        self._kind = kind
        self._path = path
        self._audience = audience
        self._decoder = msgspec.json.Decoder(SHAPES[kind])
        self._version = ""
        self._moved = False

    async def follow(self) -> None:
        """Reports to the audience until cancelled; trouble is logged, counted and tried again."""
        loop = asyncio.get_running_loop()
        pause = 0.0
        while True:
            started, self._moved = loop.time(), False
            how = await self._once()
            ENDS.labels(kind=self._kind, how=how).inc()
            if how == CLOSED and (self._moved or loop.time() - started >= LONG_ENOUGH):
                pause = 0.0
            else:
                pause = min(max(FIRST_PAUSE, pause * 2), LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _once(self) -> str:
        try:
            if not self._version:
                await self._list()
            await self._watch()
        except ExpiredError:
            self._version = ""
            return "expired"
        except (ApiRefusedError, ApiUnreachableError) as error:
            _log.warning("watch ended", kind=self._kind, error=str(error))
            if isinstance(error, ApiUnreachableError):
                self._audience.lost(self._kind)
            return "failed"
        return CLOSED

    async def _list(self) -> None:
        LISTS.labels(kind=self._kind).inc()
        found: list[KubeObject] = []
        token = ""
        while True:
            page = await self._get_page(token)
            found.extend(known for raw in page.items or () if (known := self._decode(raw)))
            token = page.metadata.continue_
            if not token:
                break
        self._version = page.metadata.resource_version
        self._audience.listed(self._kind, found, int(self._version or 0))

    async def _get_page(self, token: str) -> _List:
        """One page; only what is a list at a version shows that something is not there."""
        path = f"{self._path}?limit={PAGE}" + (f"&continue={quote(token)}" if token else "")
        try:
            page = await self._api.get(path, _List)
        except ApiRefusedError as error:
            if error.status == GONE:
                raise ExpiredError from error
            raise
        if not page.kind.endswith("List") or not page.metadata.resource_version:
            raise ApiUnreachableError(f"GET {path}: a {page.kind or 'nameless'} is no list")
        return page

    async def _watch(self) -> None:
        query = (
            f"watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}"
            f"&resourceVersion={quote(self._version)}"
        )
        try:
            async with aclosing(self._api.lines(f"{self._path}?{query}", self.silence)) as lines:
                async for line in lines:
                    if line:
                        self._take(line)
        except ApiRefusedError as error:
            if error.status == GONE:
                raise ExpiredError from error
            raise

    def _take(self, line: bytes) -> None:
        try:
            event = _EVENT.decode(line)
            outline = _OUTLINE.decode(event.object)
        except msgspec.DecodeError as error:
            UNREADABLE.labels(kind=self._kind).inc()
            raise ApiUnreachableError(f"{self._path}: no watch event: {error}") from error
        if event.type == "ERROR":
            if outline.code == GONE:
                raise ExpiredError
            raise ApiRefusedError(f"watch {self._path}", outline.code, outline.message)
        self._moved = True
        version = outline.metadata.resource_version or self._version
        self._tell(event, int(version or 0))
        self._version = version

    def _tell(self, event: _Event, version: int) -> None:
        known = self._decode(event.object) if event.type != "BOOKMARK" else None
        if known is None:
            self._audience.advanced(self._kind, version)
            return
        now = known if event.type != "DELETED" else None
        self._audience.changed(Change(self._kind, address(known.metadata), now), version)

    def _decode(self, raw: msgspec.Raw) -> KubeObject | None:
        """The object; None, said aloud, for one that does not have its kind's shape."""
        try:
            return self._decoder.decode(raw)
        except msgspec.DecodeError as error:
            UNREADABLE.labels(kind=self._kind).inc()
            _log.error("object passed over", kind=self._kind, name=_name(raw), error=str(error))
            return None


def _name(raw: msgspec.Raw) -> str:
    try:
        return _OUTLINE.decode(raw).metadata.name
    except msgspec.DecodeError:
        return ""
