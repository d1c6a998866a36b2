"""A real NATS server for one test: 40 ms to start, killed with the test."""

import socket
import subprocess
import sysconfig
import time
from pathlib import Path
from types import TracebackType
from typing import Self

BINARY = Path(sysconfig.get_path("scripts")) / "nats-server"


class NatsServer:
    """nats-server on a free port of this machine, with JetStream in a folder of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.port = _free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self._options = options
        self._more = ""
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

    def join(self, configuration: str) -> None:
        """Adds to the server's configuration, before it is started."""
        self._more = configuration

    def start(self) -> None:
        """Starts the server, on the same port and data as before, and waits until it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "nats.conf"
        config.write_text(
            f'listen: "127.0.0.1:{self.port}"\n'
            f'jetstream {{ store_dir: "{self.folder}", sync_interval: always }}\n' + self._more
        )
        with (self.folder / "nats.err").open("ab") as errors:
            self._process = subprocess.Popen(
                [BINARY, "-c", str(config), *self._options],
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
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
        self.servers = [NatsServer(folder / f"n{number}") for number in range(3)]
        routes = [_free_port() for _ in self.servers]
        urls = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
        for number, (server, port) in enumerate(zip(self.servers, routes, strict=True)):
            server.join(
                f"server_name: n{number}\n"
                f'cluster {{ name: c, listen: "127.0.0.1:{port}", routes: [{urls}] }}\n'
            )
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
