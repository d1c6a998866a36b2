"""API servers of any release, as far as discovery asks them, and what may stand before one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from dra_api_bridge.edge.api import Api, connected

THREE = ("resourceclaims", "deviceclasses", "resourceslices")
RULES = "devicetaintrules"
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "{url}"{more}}}}}]
users: [{{name: u, user: {{token: secret}}}}]
"""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
LOGIN = "<html>please log in</html>"


class SomeServer:
    """Serves these resources of resource.k8s.io in these versions; all of it may be changed.

    `refuses`: the status with which probes are answered; 0 takes them as they are. `hidden`: how
    often a proxy answers instead, with its login page.
    """

    def __init__(self, versions: Mapping[str, Sequence[str]]) -> None:
        self.versions = versions
        self.release = "v1.34.1"
        self.refuses = 403
        self.hidden = 0
        self.asked: list[str] = []

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serves on loopback; yields the URL."""
        application = web.Application(middlewares=[self._proxy])
        application.router.add_get("/version", self._version)
        application.router.add_get("/apis/resource.k8s.io/{version}", self._resources)
        application.router.add_post("/{path:.*}", self._probe)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    @web.middleware
    async def _proxy(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.url}")
        if self.hidden:
            self.hidden -= 1
            return web.Response(text=LOGIN, content_type="text/html")
        return await handler(request)

    async def _version(self, _: web.Request) -> web.Response:
        minor = self.release.split(".")[1]
        return web.json_response({"major": "1", "minor": minor, "gitVersion": self.release})

    async def _resources(self, request: web.Request) -> web.Response:
        served = self.versions.get(request.match_info["version"])
        if served is None:
            return web.json_response({"kind": "Status", "message": "not found"}, status=404)
        return web.json_response({"resources": [{"name": name} for name in served]})

    async def _probe(self, request: web.Request) -> web.Response:
        if not self.refuses:
            return web.json_response({"kind": "Some", **await request.json()}, status=201)
        return web.json_response({"kind": "Status", "message": "no"}, status=self.refuses)


def a_kubeconfig(folder: Path, url: str, **more: str) -> str:
    """The path of a kubeconfig that leads there; `more` stands beside the server's address."""
    config = folder / "kubeconfig"
    fields = "".join(f', {name.replace("_", "-")}: "{value}"' for name, value in more.items())
    config.write_text(KUBECONFIG.format(url=url, more=fields))
    return str(config)


@asynccontextmanager
async def a_server(versions: Mapping[str, Sequence[str]], folder: Path) -> AsyncIterator[Api]:
    """A connection to an API server that serves this."""
    async with (
        SomeServer(versions).serving() as url,
        connected(a_kubeconfig(folder, url)) as api,
    ):
        yield api
