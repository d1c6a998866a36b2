"""How many facts a second the log accepts, and how many the reader replays.

A real NATS server with `sync_interval: always`, as on a small cluster. Facts are decisions with
one device each, of about 900 bytes: what a busy log is made of. `--json` for programs.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from servers import NatsServer

from dra_shared.events.allocations import AllocatedClaim, ClaimAllocated, Cost
from dra_shared.events.envelope import Envelope, encode
from dra_shared.ids import DeviceId, ObjectRef
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import EventLog
from dra_shared.runtime.bus import connect


def decision(number: int) -> Envelope:
    """The decision about one pod with one GPU."""
    device = DeviceId("gpu.example.com", f"node-{number % 1000}", f"gpu-{number % 8}")
    result = DeviceRequestAllocationResult(
        request="gpu", driver=device.driver, pool=device.pool, device=device.device
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    claim = ObjectRef("team", f"pod-{number}-gpu", f"claim-uid-{number:032}")
    fact = ClaimAllocated(
        pod=ObjectRef("team", f"pod-{number}", f"pod-uid-{number:032}"),
        node=device.pool,
        claims=(AllocatedClaim(claim=claim, allocation=allocation, costs=(Cost(device=device),)),),
        policy="pack",
        time="2026-01-01T00:00:00Z",
    )
    return Envelope(
        id=f"allocator:7:{number}", cause=number, correlation=claim.uid, actor="a", fact=fact
    )


async def committed(log: EventLog, total: int) -> float:
    """Facts a second, appended 1,000 at a time under a fence."""
    epoch = await log.open_epoch("allocator", "benchmark")
    events = [decision(number) for number in range(total)]
    start = time.perf_counter()
    for first in range(0, total, 1000):
        await log.commit(events[first : first + 1000], epoch=epoch)
    return total / (time.perf_counter() - start)


async def replayed(log: EventLog) -> float:
    """Facts a second, read and decoded from the first to the last."""
    last = await log.last_sequence()
    start = time.perf_counter()
    seen = 0
    async for batch in log.read(until=last):
        seen += len(batch)
    if seen != last:
        message = f"{seen} of {last} facts were read"
        raise RuntimeError(message)
    return last / (time.perf_counter() - start)


async def measure(total: int, repeats: int) -> dict[str, float]:
    """The medians."""
    with tempfile.TemporaryDirectory() as folder, NatsServer(Path(folder)) as server:
        log = JetStreamLog(await connect(server.url, "benchmark"))
        await log.ensure_stream()
        commit = await committed(log, total)
        replay = sorted([await replayed(log) for _ in range(repeats)])
        await log.close()
    return {
        "facts": total,
        "bytes_per_fact": len(encode(decision(1))),
        "committed_per_second": round(commit),
        "replayed_per_second": round(replay[len(replay) // 2]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = asyncio.run(measure(options.facts, options.repeats))
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:22} {value:>12,}")


if __name__ == "__main__":
    main()
