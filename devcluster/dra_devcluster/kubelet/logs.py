"""Containers' logs, served where a kubelet serves them: ``/containerLogs/NAMESPACE/POD/CONTAINER``.

Plain HTTP on this machine only. Following a log ends at once: nothing is added to it.
"""

from collections.abc import Iterable
from typing import Final

from aiohttp import web


class LogBook:
    """What every container of every node wrote."""

    def __init__(self) -> None:
        self._text: dict[tuple[str, str, str], str] = {}

    def write(self, namespace: str, pod: str, container: str, lines: Iterable[str]) -> None:
        """Keep a container's log in place of what was there."""
        self._text[namespace, pod, container] = "".join(f"{line}\n" for line in lines)

    def forget(self, namespace: str, pod: str) -> None:
        """Drop the logs of a pod that is gone."""
        for key in [key for key in self._text if key[:2] == (namespace, pod)]:
            del self._text[key]

    def read(self, namespace: str, pod: str, container: str) -> str | None:
        """The container's log, None before it starts."""
        return self._text.get((namespace, pod, container))


LOGS: Final = web.AppKey("logs", LogBook)


def log_application(logs: LogBook) -> web.Application:
    """The HTTP side of the kubelet as an aiohttp application."""
    app = web.Application()
    app[LOGS] = logs
    app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", _serve)
    app.router.add_get("/healthz", _healthy)
    return app


async def _healthy(_request: web.Request) -> web.Response:
    """That somebody answers is all there is to say."""
    return web.Response(text="ok")


async def _serve(request: web.Request) -> web.Response:
    names = request.match_info
    text = request.app[LOGS].read(names["namespace"], names["pod"], names["container"])
    if text is None:
        message = (
            f'container "{names["container"]}" in pod "{names["pod"]}" is waiting to start:'
            " ContainerCreating"
        )
        return web.Response(status=400, text=message)
    tail = request.query.get("tailLines", "")
    if tail.isdigit():
        lines = text.splitlines(keepends=True)
        text = "".join(lines[max(0, len(lines) - int(tail)) :])
    return web.Response(text=text)
