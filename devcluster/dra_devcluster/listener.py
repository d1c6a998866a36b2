"""An HTTP application on a socket: opens it, says where, closes it."""

import errno
from contextlib import AsyncExitStack
from typing import Self

from aiohttp import web


class PortTakenError(Exception):
    """Somebody listens there already. The operator must act."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"port {port} on {host} is taken: stop what listens there, or choose another port"
        )


class Listener:
    """An application on one address; as a context manager it listens as long as it is open."""

    def __init__(self, application: web.Application, host: str, port: int) -> None:
        self._application = application
        self._host = host
        self._port = port
        self._closing = AsyncExitStack()

    @property
    def url(self) -> str:
        """Where it listens; the port is the real one, also when any was asked for."""
        return f"http://{self._host}:{self._port}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    async def __aenter__(self) -> Self:
        runner = web.AppRunner(
            self._application, handler_cancellation=True, access_log=None, shutdown_timeout=0.2
        )
        await runner.setup()
        self._closing.push_async_callback(runner.cleanup)
        try:
            await web.TCPSite(runner, self._host, self._port).start()
        except OSError as refused:
            await self._closing.aclose()
            if refused.errno == errno.EADDRINUSE:
                raise PortTakenError(self._host, self._port) from refused
            raise
        self._port = int(runner.addresses[0][1])
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()
