"""The two sides of the allocator comparison: each a process that obeys orders, a line each.

The peer is built from its module by Go, ours is benchmarks/allocator.py with `--serve`. Both
answer in the same shape, so that whoever asks need not know which of them it is.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from workloads import Workload, as_objects

HERE: Final = Path(__file__).parent
PEERS: Final = HERE / "peers"
BUILT: Final = Path("~/.cache/dra-ledger/peers").expanduser()
ALLOCATOR: Final = "upstream_allocator"


class SideError(Exception):
    """A side did not start, or did not answer; the message has what it said."""


def build_peer(name: str = ALLOCATOR) -> Path:
    """A peer's program, built anew if its source or its modules changed. Raises SideError."""
    go = shutil.which("go")
    if go is None:
        message = "Go 1.26 or newer is missing, and the peer is built with it"
        raise SideError(message)
    BUILT.mkdir(parents=True, exist_ok=True)
    program = BUILT / name
    command = [go, "build", "-buildvcs=false", "-o", str(program), "."]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    built = subprocess.run(
        command, cwd=PEERS / name, env=environment, capture_output=True, text=True, check=False
    )
    if built.returncode:
        message = f"the peer {name} cannot be built:\n{built.stderr[-2000:]}"
        raise SideError(message)
    return program


class Side:
    """A running side. `ready`: how long its start took (seconds), and its memory then."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.ready = self._answer()

    def ask(self, **order: Any) -> dict[str, Any]:
        """The answer to one order. Raises SideError if the side is gone."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self._process.stdin.flush()
        return self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            message = f"{self._process.args} ended with {self._process.wait()}"
            raise SideError(message)
        answer: dict[str, Any] = msgspec.json.decode(line)
        return answer


def ours(workload: Workload, python: str = sys.executable) -> Side:
    """Our allocator with the workload's cluster in it. `python`: the command that starts Python."""
    described = msgspec.json.encode(workload).decode()
    return Side([*shlex.split(python), str(HERE / "allocator.py"), "--serve", described])


def peer(workload: Workload) -> Side:
    """Kubernetes' allocator with the same cluster in it."""
    with tempfile.NamedTemporaryFile(prefix="cluster-", suffix=".json") as file:
        as_objects(workload, Path(file.name))
        return Side([str(BUILT / ALLOCATOR), file.name])
