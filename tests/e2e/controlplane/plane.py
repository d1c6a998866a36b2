"""The running control plane: starts and ends its parts, and is how a test talks to it.

Objects for tests are in objects.py, flags in commands.py. No policy and no role is built in:
tests install those of deploy/ like an operator does.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from dra_cli.local.ports import hold_ports
from e2e.controlplane.commands import LOOPBACK, Options, Site, arguments
from e2e.controlplane.eventually import DeadlineError, eventually
from e2e.controlplane.identities import (
    Identity,
    kubeconfig,
    new_signing_key,
    new_tokens,
    token_file,
)
from e2e.controlplane.objects import a_node
from e2e.controlplane.programs import KUBECTL, Part, program_folder
from e2e.controlplane.rest import Json, JsonPatch, Rest
from e2e.controlplane.server import Server, StartError
from e2e.controlplane.workdir import owned_folder

READY_PATHS = {
    Part.ETCD: "/readyz",
    Part.API_SERVER: "/readyz",
    Part.CONTROLLER_MANAGER: "/healthz",
    Part.SCHEDULER: "/readyz",
}
START_SECONDS = 45.0


class KubectlError(Exception):
    """kubectl ended with an error; the message is what it said."""


class ControlPlane:
    """A Kubernetes control plane of its own, for as long as the `async with` lasts.

    Everything is on loopback and in one temporary folder. Raises ProgramsMissingError or StartError
    on entry. `site.folder` holds the logs.
    """

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self._programs = program_folder()
        self._tokens = new_tokens()
        self._servers: dict[Part, Server] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(owned_folder())
            ports = hold_ports(len(Part), stack.enter_context(ExitStack()))
            self.site = Site(folder, dict(zip(Part, ports, strict=True)))
            self._write_files()
            stack.push_async_callback(self.stop, *Part)
            self._probe = await stack.enter_async_context(aiohttp.ClientSession())
            await self.start(Part.ETCD)
            await self.start(Part.API_SERVER)
            self._rest = Rest(self.site.url, self.site.ca_file)
            stack.push_async_callback(self._rest.close)
            others = self.options.parts - {Part.ETCD, Part.API_SERVER}
            await asyncio.gather(*(self.start(part) for part in others))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, at)

    async def start(self, part: Part) -> None:
        """Starts a part and waits until it is ready. Raises StartError."""
        server = await Server.start(
            self._programs / part,
            arguments(part, self.site, self.options),
            self.site.folder / f"{part}.log",
        )
        self._servers[part] = server

        async def ready() -> bool:
            server.check_alive()
            return await self._answers(part)

        try:
            await eventually(f"{part} is ready", ready, seconds=START_SECONDS)
        except DeadlineError as late:
            raise StartError(part, "did not become ready", server.log) from late

    async def stop(self, *parts: Part) -> None:
        """Kills parts, all at once; what does not run is passed over."""
        running = [self._servers.pop(part) for part in parts if part in self._servers]
        await asyncio.gather(*(server.kill() for server in running))

    def pid(self, part: Part) -> int:
        """The process id of a running part, for measuring."""
        return self._servers[part].pid

    def kubeconfig(self, identity: Identity = Identity.ADMIN) -> Path:
        """The kubeconfig file of a user."""
        return self.site.kubeconfig(identity)

    async def api(
        self,
        method: str,
        path: str,
        body: Json | JsonPatch | None = None,
        identity: Identity = Identity.ADMIN,
    ) -> Any:
        """The decoded answer to one REST call as `identity`. Raises ApiError.

        A PATCH is a merge patch if `body` is a mapping, a JSON patch if it is a list.
        """
        return await self._rest.call(self._tokens[identity], method, path, body)

    def watch(self, path: str, identity: Identity = Identity.ADMIN) -> AsyncGenerator[Json, None]:
        """Events (`type`, `object`) of a collection: what there is, as ADDED, then what changes.

        Never ends by itself: close it when done. Raises ApiError if it is refused.
        """
        return self._rest.watch(self._tokens[identity], path)

    async def kubectl(self, *args: str, identity: Identity = Identity.ADMIN) -> str:
        """What kubectl printed. Raises KubectlError with what it complained of."""
        running = await asyncio.create_subprocess_exec(
            self._programs / KUBECTL,
            *(f"--kubeconfig={self.kubeconfig(identity)}", *args),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, complaint = await running.communicate()
        if running.returncode:
            raise KubectlError(f"kubectl {' '.join(args)}: {complaint.decode()}")
        return output.decode()

    async def install(self, *paths: Path) -> None:
        """Applies manifests: YAML files, or folders of them. May be repeated.

        Policies take up to two seconds to come into force: await their effect.
        """
        files = (f"--filename={path}" for path in paths)
        await self.kubectl("apply", "--server-side", "--force-conflicts", *files)

    async def add_node(
        self,
        name: str,
        *,
        cpu: str = "64",
        memory: str = "256Gi",
        pods: int = 110,
        labels: Json | None = None,
    ) -> Json:
        """A ready node that is only an object: pods can be bound to it, nothing runs them.

        One write; for many nodes gather the calls.
        """
        capacity = {"cpu": cpu, "memory": memory, "pods": str(pods)}
        node: Json = await self.api("POST", "/api/v1/nodes", a_node(name, capacity, labels or {}))
        return node

    def _write_files(self) -> None:
        self.site.certificates.mkdir()
        self.site.token_file.write_text(token_file(self._tokens))
        self.site.signing_key.write_text(new_signing_key())
        for identity, token in self._tokens.items():
            text = kubeconfig(identity, token, self.site.url, self.site.ca_file)
            self.kubeconfig(identity).write_text(text)

    async def _answers(self, part: Part) -> bool:
        scheme = "http" if part is Part.ETCD else "https"
        url = f"{scheme}://{LOOPBACK}:{self.site.ports[part]}{READY_PATHS[part]}"
        token = {"Authorization": f"Bearer {self._tokens[Identity.ADMIN]}"}
        try:
            async with self._probe.get(url, ssl=False, headers=token) as response:
                return response.status == 200
        except (aiohttp.ClientError, ssl.SSLError):
            return False
