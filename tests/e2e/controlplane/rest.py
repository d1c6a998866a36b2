"""Plain REST calls to an API server, as any user. No objects, no watches, no retries."""

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

CONNECTIONS = 16  # more only cost handshakes: the server is busy with fewer

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
