"""How the promises ask an API server: plain REST, with the answer's code left to the test.

Works for any server that a URL, headers and TLS settings reach. No retries, no objects.
"""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp
import msgspec

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
CORE = "/api/v1"
DRA = "/apis/resource.k8s.io/v1"
Object = dict[str, Any]


class Answer(msgspec.Struct, frozen=True):
    """What came back: the HTTP code, the decoded body, the warnings."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()

    def ok(self) -> Any:
        """The body of an answer that must be a success."""
        assert self.code < 400, (self.code, self.body)
        return self.body

    @property
    def reason(self) -> str:
        """The Status object's reason."""
        return str(self.body.get("reason", ""))

    @property
    def message(self) -> str:
        """The Status object's message."""
        return str(self.body.get("message", ""))


class Api:
    """One API server; a context manager."""

    def __init__(
        self, url: str, headers: Mapping[str, str] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        connector = aiohttp.TCPConnector(ssl=True if tls is None else tls)
        self._session = aiohttp.ClientSession(url, headers=headers, connector=connector)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def call(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> Answer:
        """One request and its answer, refusals included."""
        encoded = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": kind} if encoded else {}
        async with self._session.request(method, path, data=encoded, headers=headers) as got:
            raw = await got.read()
            try:
                decoded = msgspec.json.decode(raw) if raw else {}
            except msgspec.DecodeError:
                decoded = {"message": raw.decode()}
            return Answer(got.status, decoded, tuple(got.headers.getall("Warning", [])))

    async def get(self, path: str) -> Any:
        """The object or list that must be there."""
        return (await self.call("GET", path)).ok()

    async def exists(self, path: str) -> bool:
        """Whether the object is there."""
        return (await self.call("GET", path)).code != 404

    async def create(self, path: str, body: Any) -> Any:
        """The created object; it must be accepted."""
        return (await self.call("POST", path, body)).ok()

    async def merge(self, path: str, body: Any) -> Answer:
        """The answer to a merge patch."""
        return await self.call("PATCH", path, body, MERGE_PATCH)

    @asynccontextmanager
    async def watch(self, path: str, **query: str) -> AsyncIterator["Events"]:
        """An open watch."""
        asked = {"watch": "1", "timeoutSeconds": "20", **query}
        async with self._session.get(path, params=asked) as got:
            if got.status != 200:
                yield Events(None, Answer(got.status, msgspec.json.decode(await got.read())))
            else:
                yield Events(got.content, None)


class Events:
    """The events of a watch, one at a time; a watch that was refused has only its answer."""

    def __init__(self, stream: aiohttp.StreamReader | None, refused: Answer | None) -> None:
        self._stream = stream
        self.refused = refused

    async def next(self) -> tuple[str, Any]:
        """The next event's type and object; type "" once the server ended the watch."""
        assert self._stream is not None, self.refused
        line = await self._stream.readline()
        event: Object = msgspec.json.decode(line) if line else {"type": "", "object": {}}
        return event["type"], event["object"]

    async def until_named(self, name: str) -> tuple[str, Any]:
        """The next event of the named object."""
        while True:
            kind, obj = await self.next()
            assert kind, f"the watch ended without an event of {name}"
            if obj["metadata"].get("name") == name:
                return kind, obj
