"""How long the allocator takes to be back after a restart, on a large cluster's log.

A real NATS server holds the log of a cluster of 10,000 nodes with eight devices each, no two of
them alike, and 50,000 claims that hold one: pools, nodes, claims, pods, decisions, what the API
server answered and what the agents prepared. Each run starts the service as its own process, as
Kubernetes would, and measures from there on, interpreter and imports included: `ready` (/readyz
says yes: all is read), `decided` (a pod that waited has its decision in the log: the first one
reads all devices), and the processor time that the service spent until either. First without
snapshots, then from one that the snapshotter made; its own cost is the last line.

The service runs in an environment of its own with what its image holds, made as deploy/Dockerfile
makes it: ours for development has packages in it that nats-py and structlog load if they are there.

    python -m benchmarks.restart [--nodes N] [--claims N] [--runs N] [--keep DIR] [--python P] [--json]

`--keep DIR` builds the log once and uses it again. `--python P` starts the service with that one
instead, and needs no uv. The machine should be idle.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import msgspec
from nats.aio.client import Client
from nats.js.errors import NotFoundError
from servers import NatsServer
from waiting import until
from workloads import Workload, cluster_facts, demand_facts, held_facts

from dra_allocator.edge.snapshots import BUCKET, Store
from dra_cli.local.ports import free_ports
from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.mirror import AllocationWritten, PodUngated
from dra_shared.events.nodes import ClaimPrepared, PreparedDevice
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect

ROOT: Final = Path(__file__).parents[1]
SYNC: Final = (
    "sync --quiet --package dra-allocator --no-dev --frozen --no-editable --compile-bytecode"
)
OURS: Final = ("dra-allocator", "dra-shared", "kube-cel")
"""Built anew each time: uv does not see that a source changed, and would take an older build."""

AT_ONCE: Final = 1000
DEADLINE_SECONDS: Final = 120.0
LOOK_SECONDS: Final = 0.1
"""Between questions whether it is ready: they take time of the service, a tenth of it every 0.02 s."""

HEAD: Final = (
    f"{'from':12} {'ready s':>8} {'cpu s':>7} {'decided s':>10} {'cpu s':>7} {'RSS MB':>7}"
)


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """One start: seconds from the start of the process, processor seconds, megabytes."""

    source: str
    ready: float
    ready_cpu: float
    decided: float
    decided_cpu: float
    rss: float

    def line(self) -> str:
        """As a line of the table."""
        return (
            f"{self.source:12} {self.ready:8.2f} {self.ready_cpu:7.2f} "
            f"{self.decided:10.2f} {self.decided_cpu:7.2f} {self.rss:7.0f}"
        )


def history(nodes: int, claims: int) -> Iterator[AnyFact]:
    """All facts of such a cluster, in an order in which they may have come."""
    workload = Workload(kind="plain", nodes=nodes, fill=100)
    yield from cluster_facts(workload)
    for fact in islice(held_facts(workload), 3 * claims):
        yield fact
        if isinstance(fact, ClaimAllocated):
            yield from _afterwards(fact)


def _afterwards(fact: ClaimAllocated) -> Iterator[AnyFact]:
    for got in fact.claims:
        yield AllocationWritten(claim=got.claim, node=fact.node, resource_version="1")
    yield PodUngated(pod=fact.pod, node=fact.node)
    for got in fact.claims:
        device = got.costs[0].device
        yield ClaimPrepared(
            node=fact.node,
            driver=device.driver,
            claim=got.claim,
            boot_id="boot",
            devices=(
                PreparedDevice(
                    requests=("r",), pool=device.pool, device=device.device, cdi_ids=("x=y",)
                ),
            ),
        )


async def append(log: JetStreamLog, facts: Iterable[AnyFact]) -> None:
    """Appends facts, each knowing all before it."""
    last = await log.last_sequence()
    source = iter(enumerate(facts, last + 1))
    while part := list(islice(source, AT_ONCE)):
        await log.commit(
            [
                Envelope(id=f"bench:{place}", cause=place - 1, actor="bench", fact=fact)
                for place, fact in part
            ]
        )


@asynccontextmanager
async def stage(folder: Path, nodes: int, claims: int) -> AsyncIterator[tuple[NatsServer, Client]]:
    """A server with the log in it, which is built unless it is there."""
    with NatsServer(folder) as server:
        client = await connect(server.url, "benchmark")
        log = JetStreamLog(client)
        await log.ensure_stream()
        if not await log.last_sequence():
            await append(log, history(nodes, claims))
        yield server, client
        await client.close()


def image(folder: Path) -> Path:
    """The Python of a new environment with what the allocator's image holds, and nothing else."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        message = "restart: there is no uv; use `./dev bench restart`, or name an interpreter"
        raise SystemExit(message)
    anew = [f"--reinstall-package={name}" for name in OURS]
    command = [uv, *SYNC.split(), *anew, "--python", sys.executable]
    environment = os.environ | {"UV_PROJECT_ENVIRONMENT": str(folder)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return folder / "bin" / "python"


async def restart(server: NatsServer, client: Client, python: Path, source: str) -> Restart:
    """Starts the allocator once, lets it decide about one pod, and ends it."""
    log = JetStreamLog(client)
    last = await log.last_sequence()
    await append(log, demand_facts("plain", f"waiting-{last}"))
    decided = asyncio.Event()

    async def note(_: object) -> None:
        decided.set()

    subscription = await client.subscribe("dra.allocation.>", cb=note)
    await client.flush()
    async with part(server, python, "dra_allocator") as (process, port):
        start = time.perf_counter()
        await _ready(port)
        ready, ready_cpu = time.perf_counter() - start, _cpu(process.pid)
        async with asyncio.timeout(DEADLINE_SECONDS):
            await decided.wait()
        found = Restart(
            source=source,
            ready=ready,
            ready_cpu=ready_cpu,
            decided=time.perf_counter() - start,
            decided_cpu=_cpu(process.pid),
            rss=_peak_megabytes(process.pid),
        )
    await subscription.unsubscribe()
    return found


async def snapshot(server: NatsServer, client: Client, python: Path) -> Restart:
    """Starts the snapshotter and waits for a verified snapshot; the log is all there before."""
    store = Store(client)
    async with part(server, python, "dra_allocator.snapshotter") as (process, port):
        start = time.perf_counter()
        await _ready(port)
        ready, ready_cpu = time.perf_counter() - start, _cpu(process.pid)
        await until(store.slots, "a snapshot is stored", within=DEADLINE_SECONDS)
        return Restart(
            source="snapshotter",
            ready=ready,
            ready_cpu=ready_cpu,
            decided=time.perf_counter() - start,
            decided_cpu=_cpu(process.pid),
            rss=_peak_megabytes(process.pid),
        )


@asynccontextmanager
async def part(
    server: NatsServer, python: Path, module: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """A process of the system, and the port of its endpoint."""
    (port,) = free_ports(1)
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = ours | {
        "NATS_URL": server.url,
        "HTTP_HOST": "127.0.0.1",
        "HTTP_PORT": str(port),
        "INSTANCE": "benchmark",
        "LOG_LEVEL": "warning",
    }
    process = await asyncio.create_subprocess_exec(python, "-m", module, env=environment)
    try:
        yield process, port
    finally:
        process.terminate()
        await process.wait()


async def _ready(port: int) -> None:
    asked = partial(asyncio.to_thread, _answers, f"http://127.0.0.1:{port}/readyz")
    await until(asked, "the service is ready", within=DEADLINE_SECONDS, every=LOOK_SECONDS)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except (urllib.error.URLError, OSError):
        return False


def _cpu(pid: int) -> float:
    """Processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


async def measure(folder: Path, python: Path, options: argparse.Namespace) -> list[Restart]:
    """All starts."""
    async with stage(folder, options.nodes, options.claims) as (server, client):
        with suppress(NotFoundError):
            await client.jetstream().delete_object_store(BUCKET)
        found = [await restart(server, client, python, "log") for _ in range(options.runs)]
        made = await snapshot(server, client, python)
        found += [await restart(server, client, python, "snapshot") for _ in range(options.runs)]
        return [*found, made]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--claims", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--python", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = options.python or image(Path(folder) / "image")
        found = asyncio.run(measure(options.keep or Path(folder) / "log", python, options))
    if options.json:
        print(msgspec.json.encode(found).decode())
        return
    print(HEAD)
    for one in found:
        print(one.line())


if __name__ == "__main__":
    main()
