"""Plain REST calls and watches on an API server, as any user. No objects, no informers."""

import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

CONNECTIONS = 16  # more only cost handshakes: the server is busy with fewer
WATCH_LINE_BYTES = 2**22  # the longest event, several times the longest object
FOREVER = aiohttp.ClientTimeout(total=None)

Json = Mapping[str, Any]
JsonPatch = Sequence[Json]


class ApiError(Exception):
    """The API server answered with an error: its `status` (HTTP code), `reason`, `message`."""

    def __init__(self, request: str, status: int, answer: Json) -> None:
        self.status = status
        self.reason = str(answer.get("reason", ""))
        self.message = str(answer.get("message", answer))
        super().__init__(f"{request}: {status} {self.reason}: {self.message}")


class Rest:
    """A connection pool to one API server."""

    def __init__(self, url: str, ca_file: Path) -> None:
        context = ssl.create_default_context(cafile=str(ca_file))
        connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=context)
        self._session = aiohttp.ClientSession(url, connector=connector)

    async def call(
        self, token: str, method: str, path: str, body: Json | JsonPatch | None = None
    ) -> Any:
        """The decoded answer. A PATCH is a merge patch if `body` is a mapping, a JSON patch
        if it is a list. Raises ApiError on any answer from 400 on.
        """
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type(method, body)}
        encoded = msgspec.json.encode(body) if body is not None else None
        async with self._session.request(method, path, data=encoded, headers=headers) as response:
            raw = await response.read()
        if response.status >= 400:
            raise ApiError(f"{method} {path}", response.status, decode_status(raw))
        return msgspec.json.decode(raw)

    async def watch(self, token: str, path: str) -> AsyncGenerator[Json, None]:
        """Events (`type`, `object`) of a collection: what there is, as ADDED, then what changes.

        Never ends by itself: when the server ends a watch (it does that within seconds to a
        reader slower than a burst), the next goes on from the last event. `path` may carry
        selectors. Raises ApiError if it is refused.
        """
        listed = await self.call(token, "GET", path)
        for item in listed["items"]:
            yield {"type": "ADDED", "object": item}
        version = listed["metadata"]["resourceVersion"]
        while True:
            async with aclosing(self._watch_once(token, path, version)) as events:
                async for event in events:
                    version = event["object"]["metadata"]["resourceVersion"]
                    yield event

    async def _watch_once(self, token: str, path: str, version: str) -> AsyncGenerator[Json, None]:
        url = f"{path}{'&' if '?' in path else '?'}watch=1&resourceVersion={version}"
        headers = {"Authorization": f"Bearer {token}"}
        async with self._session.get(
            url, headers=headers, timeout=FOREVER, read_bufsize=WATCH_LINE_BYTES
        ) as response:
            if response.status >= 400:
                raise ApiError(f"GET {url}", response.status, decode_status(await response.read()))
            async for line in response.content:
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    raise ApiError(f"GET {url}", event["object"]["code"], event["object"])
                yield event

    async def close(self) -> None:
        """Ends all connections."""
        await self._session.close()


def content_type(method: str, body: Json | JsonPatch | None) -> str:
    """What the API server has to be told about `body`."""
    if method != "PATCH":
        return "application/json"
    return f"application/{'merge' if isinstance(body, Mapping) else 'json'}-patch+json"


def decode_status(raw: bytes) -> Json:
    """The Status object of a refusal, or its text where it is none."""
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except msgspec.DecodeError:
        return {"message": raw.decode(errors="replace")}
