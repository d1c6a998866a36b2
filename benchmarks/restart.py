"""How long the allocator takes to be back after a restart, on a large cluster's log.

A real NATS server holds the log of a cluster of 10,000 nodes with eight devices each, no two of
them alike, and 50,000 claims that hold one: pools, nodes, claims, pods, decisions, what the API
server answered and what the agents prepared. Each run starts the service as its own process, as
Kubernetes would, and measures from there on: `ready` (/readyz says yes: all is read), `decided` (a
pod that waited has its decision in the log), and the processor time that the service spent until
then, which a busy machine does not stretch.

    python -m benchmarks.restart [--nodes N] [--claims N] [--runs N] [--keep DIR] [--json]

`--keep DIR` builds the log once and uses it again. The machine should be idle.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import msgspec
from nats.aio.client import Client
from servers import NatsServer
from workloads import Workload, cluster_facts, demand_facts, held_facts, ref

from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.mirror import AllocationWritten, PodUngated
from dra_shared.events.nodes import ClaimPrepared, PreparedDevice
from dra_shared.events.pools import PoolPublished
from dra_shared.kube.devices import DeviceAttribute
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect

AT_ONCE: Final = 1000
DEADLINE_SECONDS: Final = 120.0
LOOK_SECONDS: Final = 0.005
HEAD: Final = f"{'from':10} {'ready s':>8} {'decided s':>10} {'cpu s':>7} {'RSS MB':>7}"


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """One restart: seconds from the start of the process, processor seconds, megabytes."""

    source: str
    ready: float
    decided: float
    cpu: float
    rss: float

    def line(self) -> str:
        """As a line of the table."""
        return (
            f"{self.source:10} {self.ready:8.2f} {self.decided:10.2f} "
            f"{self.cpu:7.2f} {self.rss:7.0f}"
        )


def history(nodes: int, claims: int) -> Iterator[AnyFact]:
    """All facts of such a cluster, in an order in which they may have come."""
    workload = Workload(kind="plain", nodes=nodes, fill=100)
    for fact in cluster_facts(workload):
        yield _with_serials(fact) if isinstance(fact, PoolPublished) else fact
    for fact in islice(held_facts(workload), 3 * claims):
        yield fact
        if isinstance(fact, ClaimAllocated):
            yield from _afterwards(fact)


def _with_serials(pool: PoolPublished) -> PoolPublished:
    """The pool with an attribute in each device that no other device has."""
    slices = tuple(
        msgspec.structs.replace(
            spec,
            devices=tuple(
                msgspec.structs.replace(
                    device,
                    attributes={
                        **(device.attributes or {}),
                        "uuid": DeviceAttribute(string=ref(f"{pool.pool}/{device.name}").uid),
                    },
                )
                for device in spec.devices or ()
            ),
        )
        for spec in pool.slices
    )
    return msgspec.structs.replace(pool, slices=slices)


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


async def restart(server: NatsServer, client: Client, source: str) -> Restart:
    """Starts the allocator once, lets it decide about one pod, and ends it."""
    log = JetStreamLog(client)
    last = await log.last_sequence()
    await append(log, demand_facts("plain", f"waiting-{last}"))
    decided = asyncio.get_running_loop().create_future()

    async def note(_: object) -> None:
        if not decided.done():
            decided.set_result(time.perf_counter())

    subscription = await client.subscribe("dra.allocation.>", cb=note)
    await client.flush()
    port = _free_port()
    start = time.perf_counter()
    process = _start(server, port)
    try:
        ready = asyncio.create_task(_ready(port))
        done = await asyncio.wait_for(decided, DEADLINE_SECONDS)
        cpu, rss = _spent(process.pid)
        return Restart(
            source=source, ready=await ready - start, decided=done - start, cpu=cpu, rss=rss
        )
    finally:
        await subscription.unsubscribe()
        process.terminate()
        process.wait()


def _start(server: NatsServer, port: int) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "NATS_URL": server.url,
        "HTTP_HOST": "127.0.0.1",
        "HTTP_PORT": str(port),
        "INSTANCE": "benchmark",
        "LOG_LEVEL": "warning",
    }
    return subprocess.Popen([sys.executable, "-m", "dra_allocator"], env=environment)


async def _ready(port: int) -> float:
    while not await asyncio.to_thread(_answers, f"http://127.0.0.1:{port}/readyz"):
        await asyncio.sleep(LOOK_SECONDS)
    return time.perf_counter()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _spent(pid: int) -> tuple[float, float]:
    """Processor seconds and peak megabytes of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    status = Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()
    return ticks / os.sysconf("SC_CLK_TCK"), int(status[0]) / 1024


def _free_port() -> int:
    from servers import _free_port as free

    return free()


async def measure(folder: Path, options: argparse.Namespace) -> list[Restart]:
    """All restarts."""
    async with stage(folder, options.nodes, options.claims) as (server, client):
        return [await restart(server, client, "log") for _ in range(options.runs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--claims", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(options.keep or Path(folder), options))
    if options.json:
        print(msgspec.json.encode(found).decode())
        return
    print(HEAD)
    for one in found:
        print(one.line())


if __name__ == "__main__":
    main()
