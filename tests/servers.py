"""A real NATS server for one test: 40 ms to start, killed with the test."""

import socket
import subprocess
import sysconfig
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from dra_cli.local.ports import LOCALHOST, hold_ports

BINARY = Path(sysconfig.get_path("scripts")) / "nats-server"


class NatsServer:
    """nats-server on a free port of this machine, with JetStream in a folder of its own."""

    def __init__(self, folder: Path, *, port: int = 0, more: str = "") -> None:
        """`more`: what else its configuration says."""
        self.folder = folder
        self._held = ExitStack()
        self.port = port or hold_ports(1, self._held)[0]
        self.url = f"nats://{LOCALHOST}:{self.port}"
        self._more = more
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.kill()
        self._held.close()

    def start(self) -> None:
        """Starts the server, on the same port and data as before, and waits until it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "nats.conf"
        config.write_text(
            f'listen: "{LOCALHOST}:{self.port}"\n'
            f'jetstream {{ store_dir: "{self.folder}", sync_interval: always }}\n' + self._more
        )
        with (self.folder / "nats.err").open("ab") as errors:
            self._process = subprocess.Popen(
                [BINARY, "-c", str(config)],
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex((LOCALHOST, self.port)) == 0:
                    return
            time.sleep(0.005)
        raise TimeoutError((self.folder / "nats.err").read_text())

    def kill(self) -> None:
        """Ends the server at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class NatsCluster:
    """Three servers that keep three copies of each stream."""

    def __init__(self, folder: Path) -> None:
        self._held = ExitStack()
        ports = hold_ports(6, self._held)
        routes = [f"{LOCALHOST}:{port}" for port in ports[:3]]
        urls = ", ".join(f'"nats://{route}"' for route in routes)
        self.servers = [
            NatsServer(
                folder / f"n{number}",
                port=ports[3 + number],
                more=f"server_name: n{number}\n"
                f'cluster {{ name: c, listen: "{route}", routes: [{urls}] }}\n',
            )
            for number, route in enumerate(routes)
        ]
        self.urls = [server.url for server in self.servers]

    def __enter__(self) -> Self:
        for server in self.servers:
            server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for server in self.servers:
            server.kill()
        self._held.close()
