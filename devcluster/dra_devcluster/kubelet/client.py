"""The few things a kubelet asks of an API server, over plain REST.

Objects are dicts. Errors are the server's Status, as ``Refused``; that the server is away is
``ServerAway``. No retries here: who asks knows whether to ask again.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self

import msgspec
from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector

from dra_devcluster.kubelet.connection import Connection

Object = dict[str, Any]
DRA: Final = "/apis/resource.k8s.io/v1"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON: Final = "application/json"
NOT_FOUND: Final = 404
CONFLICT: Final = 409
LINE_BYTES: Final = 4 * 1024 * 1024
REQUEST_SECONDS: Final = ClientTimeout(total=30)
WATCH_SECONDS: Final = 300


class RefusedError(Exception):
    """The API server said no, and why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ServerAwayError(Exception):
    """The API server does not answer; it will be asked again."""


class Client:
    """A connection pool to one API server; a context manager."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Self:
        tls = self._connection.tls
        self._session = ClientSession(
            self._connection.url,
            headers=self._connection.headers,
            connector=TCPConnector(ssl=True if tls is None else tls, limit=0),
            timeout=REQUEST_SECONDS,
            read_bufsize=LINE_BYTES,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()

    async def get(self, path: str) -> Object:
        """The object. Raises ``RefusedError``, ``ServerAwayError``."""
        return await self._call("GET", path)

    async def find(self, path: str) -> Object | None:
        """The object, or None."""
        try:
            return await self.get(path)
        except RefusedError as refused:
            if refused.code == NOT_FOUND:
                return None
            raise

    async def create(self, path: str, body: Object) -> Object:
        """The object as created."""
        return await self._call("POST", path, body)

    async def patch(self, path: str, body: Any, kind: str = MERGE) -> Object:
        """The object as patched."""
        return await self._call("PATCH", path, body, kind)

    async def delete(self, path: str, options: Object | None = None) -> None:
        """Ask for deletion; that the object is gone already is fine."""
        try:
            await self._call("DELETE", path, options)
        except RefusedError as refused:
            if refused.code != NOT_FOUND:
                raise

    async def _call(self, method: str, path: str, body: Any = None, kind: str = JSON) -> Object:
        assert self._session is not None, "a Client is used inside its context"
        encoded = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": kind} if encoded else {}
        with _away(f"{method} {path}"):
            async with self._session.request(method, path, data=encoded, headers=headers) as got:
                answer = _decode(await got.read())
                if not got.ok:
                    raise RefusedError(got.status, str(answer.get("message", got.reason)))
                return answer

    async def events(
        self, path: str, query: Mapping[str, str], version: str
    ) -> AsyncIterator[tuple[str, Object]]:
        """What changed after the version, as type and object, until the server ends the watch.

        An ERROR event raises ``RefusedError``: list again.
        """
        assert self._session is not None, "a Client is used inside its context"
        asked = {
            **query,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        endless = ClientTimeout(total=None, sock_read=WATCH_SECONDS + 30)
        with _away(f"watch {path}"):
            async with self._session.get(path, params=asked, timeout=endless) as got:
                if not got.ok:
                    raise RefusedError(got.status, str(_decode(await got.read()).get("message")))
                async for line in got.content:
                    yield _read_event(line)


@contextmanager
def _away(what: str) -> Iterator[None]:
    """Whatever the transport raises means that the server is away."""
    try:
        yield
    except (ClientError, TimeoutError, OSError) as broken:
        problem = f"{what}: {broken!r}"
        raise ServerAwayError(problem) from broken


def _read_event(line: bytes) -> tuple[str, Object]:
    event = _decode(line)
    if event["type"] == "ERROR":
        raise RefusedError(event["object"]["code"], event["object"]["message"])
    return event["type"], event["object"]


def _decode(body: bytes) -> Object:
    try:
        decoded = msgspec.json.decode(body) if body else {}
    except msgspec.DecodeError:
        return {"message": body.decode(errors="replace")}
    return decoded if isinstance(decoded, dict) else {"message": str(decoded)}
