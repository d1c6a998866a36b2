"""The command `dra` as its own process, and a local system with hands and eyes, for one test."""

import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from dra_cli.demo.cluster import DemoCluster
from dra_cli.demo.manifests import EXAMPLES, load
from dra_cli.edge.rest import Api
from dra_cli.local.layout import Layout
from dra_cli.local.system import LocalSystem

DRA = (sys.executable, "-m", "dra_cli")


def dra(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, with its temporary files in `folder`."""
    return subprocess.run(
        [*DRA, *words], env=environment(folder), capture_output=True, text=True, check=False
    )


def environment(folder: Path) -> dict[str, str]:
    """A user's environment that knows nothing of us."""
    return {"TMPDIR": str(folder), "HOME": "/nonexistent", "PATH": "/usr/local/bin:/usr/bin:/bin"}


@contextmanager
def a_short_folder() -> Iterator[Path]:
    """A folder for unix sockets, whose paths must be short; pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield Path(folder)


def processes_of(folder: Path) -> list[str]:
    """The command lines of processes that have to do with a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, variables = ((process / name).read_bytes() for name in ("cmdline", "environ"))
        except OSError:
            continue
        if str(folder).encode() in words + variables:
            found.append(words.replace(b"\0", b" ").decode())
    return found


class Local:
    """A running system. `apply` and `settled` as in the demo; `system` to kill parts of it."""

    def __init__(self, system: LocalSystem, api: Api) -> None:
        self.system = system
        self.api = api
        self.cluster = DemoCluster(system, api)

    async def apply(self, *numbers: int) -> None:
        """Applies examples by number; the class must be there."""
        for number in numbers:
            await self.cluster.apply(load(EXAMPLES, range(number, number + 1))[1:])


@asynccontextmanager
async def a_local_system(layout: Layout, *, keep: Path | None = None) -> AsyncIterator[Local]:
    """A system whose nodes offer their devices, with the class applied."""
    with a_short_folder() as folder:
        made = LocalSystem(folder, layout, keep=keep)
        async with made as system, Api(system.api_url) as api:
            local = Local(system, api)
            await local.cluster.apply(load(EXAMPLES, range(0)))
            await local.cluster.offered()
            yield local
