"""An API server that answers as a script says: for ends of watches that a real one rarely shows."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

Json = dict[str, Any]


class Act(msgspec.Struct, frozen=True):
    """One answer. `lines` make a stream, which then closes, breaks off, or says nothing more.

    `page`: HTML instead, as of a proxy that wants somebody to log in; or where it sends one to.
    """

    status: int = 200
    body: Json | None = None
    page: str = ""
    lines: tuple[bytes, ...] = ()
    end: str = "close"


class ScriptedApi:
    """Plays one act for each request, lists and watches apart; the last act stays."""

    def __init__(self, lists: Sequence[Act], watches: Sequence[Act]) -> None:
        self._acts = {"list": list(lists), "watch": list(watches)}
        self.asked: list[tuple[str, str]] = []

    def asked_for(self, what: str) -> list[str]:
        """The versions with which lists or watches were asked for, in order."""
        return [version for kind, version in self.asked if kind == what]

    @asynccontextmanager
    async def serving(self, folder: Path) -> AsyncIterator[Path]:
        """Serves on loopback; yields a kubeconfig that leads here."""
        application = web.Application()
        application.router.add_get("/{path:.*}", self._answer)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        config = folder / "kubeconfig"
        config.write_text(KUBECONFIG.format(port=port))
        try:
            yield config
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        what = "watch" if "watch" in request.query else "list"
        self.asked.append((what, request.query.get("resourceVersion", "")))
        acts = self._acts[what]
        act = acts.pop(0) if len(acts) > 1 else acts[0]
        if act.body is not None:
            text = msgspec.json.encode(act.body).decode()
            return web.json_response(status=act.status, text=text)
        if act.page:
            headers = {"Location": act.page}
            return web.Response(
                status=act.status, text=act.page, content_type="text/html", headers=headers
            )
        return await self._stream(request, act)

    async def _stream(self, request: web.Request, act: Act) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for line in act.lines:
            await response.write(line)
        if act.end == "silence":
            await asyncio.Event().wait()
        if act.end == "break" and request.transport is not None:
            request.transport.abort()
        return response


KUBECONFIG = """apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: test, user: {{}}}}]
"""


def listing(version: str, *items: Json) -> Act:
    """A list of these objects as of a version."""
    metadata = {"resourceVersion": version}
    return Act(body={"kind": "SomeList", "metadata": metadata, "items": list(items)})


def event(kind: str, item: Json) -> bytes:
    """One line of a watch."""
    return msgspec.json.encode({"type": kind, "object": item}) + b"\n"


def watching(*lines: bytes, end: str = "close") -> Act:
    """A watch that tells this and then ends so."""
    return Act(lines=lines, end=end)


def failure(status: int) -> Act:
    """An answer that is an error."""
    return Act(status=status, body={"kind": "Status", "code": status, "message": "scripted"})


GONE_IN_STREAM = event("ERROR", {"kind": "Status", "code": 410, "message": "too old"})
