"""Raw requests to the Kubernetes API: bytes in, bytes out, every failure under a name of ours.

The client library is used for what is tedious to write again: kubeconfig, in-cluster accounts,
tokens that are renewed, TLS. What the bytes mean is known elsewhere; but what no API server ever
answers (a proxy's login page, a redirection) is no answer, whatever its status says.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

import aiohttp
import msgspec
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.config import ConfigException, incluster_config, kube_config

from dra_api_bridge.core.requests import PatchType, Request
from dra_shared.runtime.settings import SettingsError

CONNECTIONS: Final = 48
"""Enough for all watches and all writes in flight."""

FIRST_REDIRECTION: Final = 300
FIRST_ERROR: Final = 400
PROXIES: Final = ("http://", "https://")
SHOWN: Final = 200
"""Characters of a body that an error shows."""

T = TypeVar("T")


class ApiUnreachableError(Exception):
    """No answer of an API server came: it, or the way to it, is down. Trying again may help."""


class ApiRefusedError(Exception):
    """The API server answered with an error."""

    def __init__(self, request: str, status: int, message: str) -> None:
        super().__init__(f"{request}: {status}: {message}")
        self.status = status
        self.message = message


class NoClusterError(SettingsError):
    """There is no usable kubeconfig and no service account: the operator must give one."""


class Answer(msgspec.Struct, frozen=True):
    """What the server said; `retry_after` in seconds, where it asked for a pause."""

    status: int
    body: bytes
    retry_after: float | None = None

    @property
    def is_error(self) -> bool:
        """Whether the request was not granted."""
        return self.status >= FIRST_ERROR


class _Status(msgspec.Struct):
    message: str = ""


class Api:
    """One API server, and who we are to it."""

    def __init__(self, configuration: Configuration, session: aiohttp.ClientSession) -> None:
        self._configuration = configuration
        self._session = session
        self._host: str = configuration.host.rstrip("/")
        self._way: dict[str, Any] = {
            "proxy": configuration.proxy or None,
            "server_hostname": configuration.tls_server_name or None,
            "allow_redirects": False,
        }

    async def send(self, request: Request, seconds: float = 30) -> Answer:
        """The answer to one request, errors as well; raises ApiUnreachableError where none came."""
        headers = await self._headers(request.content_type)
        try:
            async with self._session.request(
                request.method,
                self._host + request.path,
                data=request.body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds),
                **self._way,
            ) as response:
                body = await response.read()
                _check(f"{request.method} {request.path}", response, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiUnreachableError(f"{request.method} {request.path}: {error!r}") from error
        pause = response.headers.get("Retry-After", "")
        return Answer(response.status, body, float(pause) if pause.isdigit() else None)

    async def get(self, path: str, shape: type[T]) -> T:
        """What is found there; raises ApiRefusedError and ApiUnreachableError."""
        answer = await self.send(Request("GET", path, PatchType.WHOLE, None), 120)
        if answer.is_error:
            raise ApiRefusedError(f"GET {path}", answer.status, message_of(answer.body))
        return read(f"GET {path}", answer.body, shape)

    async def lines(self, path: str, silence: float) -> AsyncGenerator[bytes]:
        """The lines of a streamed answer as they come; ends when the server ends it.

        Raises ApiRefusedError, and ApiUnreachableError when the connection breaks or nothing has
        come for `silence` seconds.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=silence)
        headers = await self._headers("application/json")
        try:
            async with self._session.get(
                self._host + path, headers=headers, timeout=timeout, **self._way
            ) as response:
                if response.status >= FIRST_ERROR:
                    text = message_of(await response.read())
                    raise ApiRefusedError(f"GET {path}", response.status, text)
                _check(f"GET {path}", response)
                rest = b""
                async for chunk in response.content.iter_any():
                    *whole, rest = (rest + chunk).split(b"\n")
                    for line in whole:
                        yield line
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiUnreachableError(f"GET {path}: {error!r}") from error

    async def _headers(self, content_type: str) -> dict[str, str]:
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        token = await self._configuration.get_api_key_with_prefix("BearerToken")
        if token is not None:
            headers["Authorization"] = token
        return headers


def read(request: str, body: bytes, shape: type[T]) -> T:
    """The body as what was asked for; raises ApiUnreachableError if it is something else."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.DecodeError as error:
        raise ApiUnreachableError(
            f"{request}: no answer of an API server ({error}): {_start(body)}"
        ) from error


def _check(request: str, response: aiohttp.ClientResponse, body: bytes = b"") -> None:
    """Raises ApiUnreachableError for a success that cannot come from an API server."""
    status = response.status
    if status >= FIRST_ERROR:
        return
    if status >= FIRST_REDIRECTION:
        where = response.headers.get("Location", "nowhere")
        raise ApiUnreachableError(
            f"{request}: {status}, no API server but a redirection to {where}"
        )
    if response.content_type != PatchType.WHOLE:
        what = f"{response.content_type} where JSON should be"
        raise ApiUnreachableError(f"{request}: {status}, no API server but {what}: {_start(body)}")


def _start(body: bytes) -> str:
    return repr(body[:SHOWN].decode(errors="replace"))


def message_of(body: bytes) -> str:
    """What the server said in an error's Status object, or the body where it is none."""
    try:
        return msgspec.json.decode(body, type=_Status).message
    except msgspec.DecodeError:
        return body[:500].decode(errors="replace")


@asynccontextmanager
async def connected(kubeconfig: str) -> AsyncIterator[Api]:
    """The API server of the kubeconfig file, or of the cluster around us where none is named.

    A kubeconfig's proxy-url and tls-server-name count. Raises NoClusterError.
    """
    configuration = Configuration()
    try:
        if kubeconfig:
            loader = await _LOAD_FILE(
                config_file=kubeconfig, client_configuration=configuration, persist_config=False
            )
            renewal = asyncio.ensure_future(_RENEW(loader, configuration))
        else:
            _LOAD_ACCOUNT(configuration)
            renewal = asyncio.ensure_future(asyncio.sleep(0))
    except (ConfigException, OSError) as error:
        message = f"KUBECONFIG={kubeconfig!r} gives no cluster, and none is around us: {error}"
        raise NoClusterError(message) from error
    if configuration.proxy and not configuration.proxy.startswith(PROXIES):
        message = f"KUBECONFIG={kubeconfig!r}: proxy-url {configuration.proxy} is not one of HTTP"
        raise NoClusterError(message)
    try:
        async with ApiClient(configuration) as client, _session(client) as session:
            yield Api(configuration, session)
    finally:
        renewal.cancel()
        with suppress(asyncio.CancelledError):
            await renewal


# The library's config modules carry no types; these say what is used of them.
_LOAD_FILE: Final[Callable[..., Awaitable[object]]] = kube_config.load_kube_config
_RENEW: Final[Callable[[object, Configuration], Awaitable[None]]] = kube_config.refresh_token
_LOAD_ACCOUNT: Final[Callable[[Configuration], None]] = incluster_config.load_incluster_config


def _session(client: ApiClient) -> aiohttp.ClientSession:
    context = client.rest_client.ssl_context
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=context)
    return aiohttp.ClientSession(connector=connector, read_bufsize=2**18)
