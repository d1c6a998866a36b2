"""Plain HTTP: is a process ready, and the few calls that the demo makes to its API server.

Only for servers of this machine that ask nobody who they are; a real cluster has kubectl.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Self

import aiohttp
import msgspec

TIMEOUT: Final = aiohttp.ClientTimeout(total=5)

PLURALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "DeviceClass": "deviceclasses",
        "Namespace": "namespaces",
        "Pod": "pods",
        "ResourceClaim": "resourceclaims",
        "ResourceClaimTemplate": "resourceclaimtemplates",
    }
)

Object = dict[str, Any]


class ApiRefusedError(Exception):
    """The API server said no; the caller's request must change."""

    def __init__(self, method: str, path: str, status: int, body: str) -> None:
        super().__init__(f"{method} {path} was answered with {status}: {body.strip()[:400]}")
        self.status = status


class ApiAwayError(Exception):
    """The API server does not answer; the operator must look at its process."""

    def __init__(self, method: str, path: str, why: Exception) -> None:
        super().__init__(f"{method} {path} had no answer: {str(why) or type(why).__name__}")


async def answers(url: str) -> str:
    """Empty if the URL answers 200, else what it says instead."""
    try:
        async with aiohttp.request("GET", url, timeout=TIMEOUT) as response:
            text = (await response.text()).strip()
            return "" if response.ok else text or f"status {response.status}"
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return str(error) or type(error).__name__


class Api:
    """The API server of a devcluster."""

    def __init__(self, url: str) -> None:
        self._session = aiohttp.ClientSession(url, timeout=TIMEOUT)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def create(self, manifest: Object) -> Object:
        """The object as the server made it. Raises ApiRefusedError, and as all here ApiAwayError."""
        return await self._call("POST", path_of(manifest), manifest)

    async def list(self, path: str) -> list[Object]:
        """The objects of a collection, such as `/api/v1/pods`."""
        items: list[Object] = (await self._call("GET", path)).get("items") or []
        return items

    async def delete(self, path: str) -> None:
        """Asks for the end of an object; it may take a while to be gone."""
        await self._call("DELETE", path)

    async def pod_log(self, namespace: str, pod: str, container: str) -> str:
        """What a container has printed."""
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}"
        return (await self._send("GET", path, None)).decode()

    async def _call(self, method: str, path: str, body: Object | None = None) -> Object:
        return msgspec.json.decode(await self._send(method, path, body), type=Object)

    async def _send(self, method: str, path: str, body: Object | None) -> bytes:
        try:
            async with self._session.request(method, path, json=body) as response:
                answer = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiAwayError(method, path, error) from error
        if not response.ok:
            raise ApiRefusedError(method, path, response.status, answer.decode())
        return answer


def path_of(manifest: Object) -> str:
    """The collection that an object of this kind belongs to."""
    version = manifest["apiVersion"]
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    namespace = manifest["metadata"].get("namespace")
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{within}/{PLURALS[manifest['kind']]}"
