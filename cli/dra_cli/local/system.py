"""The local system: every part as its own process, started together and gone together."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from dra_cli.local import programs
from dra_cli.local.child import Program
from dra_cli.local.layout import Folder, Layout
from dra_cli.local.ports import LOCALHOST, check_free, hold_ports
from dra_cli.local.supervisor import Supervisor
from dra_devcluster.kubeconfig import write_kubeconfig

READY_WITHIN: Final = 30.0
"""Seconds from start to ready."""


class LocalSystem:
    """A context manager: inside, the system runs.

    `folder`, short and empty, is for everything, or only for the nodes when `keep` names another
    one, where the log of an earlier run may be: it goes on. Neither folder is removed.

    Raises PortTakenError when made; ProgramEndedError or NotReadyError when entered.
    Processes are named nats, devcluster (or kubelets), inventory, allocator, api-bridge (a second
    one allocator-2 and so on), and node-agent-NODE.
    """

    def __init__(
        self, folder: Path, layout: Layout | None = None, *, keep: Path | None = None
    ) -> None:
        self.layout = layout or Layout()
        self.folder = Folder(folder.resolve(), (keep or folder).resolve())
        if self.layout.port:
            check_free(self.layout.port)
        self._held = ExitStack()
        ports = hold_ports(3 + self.layout.services, self._held)
        nats, self._monitor, api, *self._service_ports = ports
        self._nats_port = nats
        self._api_port = self.layout.port or api
        self.nats_url = f"nats://{LOCALHOST}:{nats}"
        self.api_url = f"http://{LOCALHOST}:{self._api_port}"
        self.kubeconfig = self.layout.kubeconfig or self.folder.kubeconfig
        self.supervisor = Supervisor(self.folder.logs, restart=self.layout.restart)

    async def __aenter__(self) -> Self:
        self.folder.make()
        try:
            self.supervisor.start(programs.nats(self.folder.nats, self._nats_port, self._monitor))
            self.supervisor.start(*self._cluster())
            self.supervisor.start(*self._services())
            await self.ready()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def ready(self, *names: str, within: float = READY_WITHIN) -> None:
        """Waits until these programs are ready, all if none is named.

        Raises ProgramEndedError or NotReadyError.
        """
        await self.supervisor.ready(*names, within=within)

    def kill(self, name: str) -> None:
        """Ends a process as a crash would (SIGKILL)."""
        self.signal(name, signal.SIGKILL)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Sends a process a signal, such as SIGSTOP to freeze it."""
        self.supervisor.child(name).signal(number)

    async def _stop(self) -> None:
        await self.supervisor.stop()
        self._held.close()

    def _cluster(self) -> Iterator[Program]:
        if self.layout.kubeconfig is None:
            write_kubeconfig(self.kubeconfig, self.api_url)  # the bridge starts at the same time
            yield programs.cluster(self.folder, self.layout, self._api_port)
        elif self.layout.kubelets:
            yield programs.kubelets(self.folder.cluster, self.layout, self._api_port)

    def _services(self) -> Iterator[Program]:
        parts = [
            ("dra_inventory", "inventory", self.layout.inventories),
            ("dra_allocator", "allocator", self.layout.allocators),
            ("dra_api_bridge", "api-bridge", self.layout.bridges),
        ]
        for module, name, count in parts:
            for number in range(1, count + 1):
                instance = name if number == 1 else f"{name}-{number}"
                yield self._service(module, instance, {"KUBECONFIG": str(self.kubeconfig)})
        for node in self.layout.nodes:
            environment = programs.agent_environment(self.folder, self.layout, node)
            yield self._service("dra_node_agent", f"node-agent-{node}", environment)

    def _service(self, module: str, name: str, environment: dict[str, str]) -> Program:
        own = {"NATS_URL": self.nats_url, **environment, **self.layout.environment}
        return programs.service(module, name, self._service_ports.pop(), own)
