"""The inventory as a process, on a real NATS server."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from facts import everything
from servers import NatsServer
from waiting import until

from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.nodes import AgentStarted, DevicesReported, ReportedDevice
from dra_shared.events.pools import NodeLost, PoolPublished, PoolWithdrawn
from dra_shared.events.writers import EpochOpened
from dra_shared.kube.devices import Device
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import EventLog
from dra_shared.runtime.bus import connect
from dra_shared.runtime.liveness import beat


@asynccontextmanager
async def inventory(server: NatsServer, name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = os.environ | {
        "NATS_URL": server.url,
        "HTTP_PORT": "-1",
        "INSTANCE": name,
        "SILENCE_SECONDS": "8",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "dra_inventory", env=environment
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def tags(log: EventLog, kind: type) -> list[object]:
    return [r.envelope.fact for r in await everything(log) if isinstance(r.envelope.fact, kind)]


def report(count: int) -> list[Envelope]:
    devices = tuple(
        ReportedDevice(identity=str(n), device=Device(name=f"gpu-{n}")) for n in range(count)
    )
    started = AgentStarted(node="n.1", boot_id="b", agent_version="0", drivers=("d.example",))
    reported = DevicesReported(node="n.1", driver="d.example", devices=devices)
    facts: tuple[AnyFact, ...] = (started, reported)
    return [Envelope(id=f"n1:{count}:{n}", actor="n.1", fact=fact) for n, fact in enumerate(facts)]


async def test_pools_are_published_and_withdrawn_when_the_agent_falls_silent(
    nats_server: NatsServer,
) -> None:
    client = await connect(nats_server.url, "test")
    log = JetStreamLog(client)
    await log.ensure_stream()
    async with inventory(nats_server, "a"):
        beating = asyncio.create_task(beat(client, "n.1"))
        await log.commit(report(3))
        await until(lambda: tags(log, PoolPublished), "the pool is published")
        beating.cancel()
        await until(lambda: tags(log, PoolWithdrawn), "the pool is withdrawn", within=25)
        assert len(await tags(log, NodeLost)) == 1
    await log.close()


async def test_a_standby_takes_over_within_five_seconds_of_a_kill(nats_server: NatsServer) -> None:
    client = await connect(nats_server.url, "test")
    log = JetStreamLog(client)
    await log.ensure_stream()
    beating = asyncio.create_task(beat(client, "n.1"))
    async with inventory(nats_server, "a") as first:
        await until(lambda: tags(log, EpochOpened), "the first writes")
        async with inventory(nats_server, "b"):
            await log.commit(report(1))
            await until(lambda: tags(log, PoolPublished), "the first publishes")
            assert len(await tags(log, EpochOpened)) == 1
            first.kill()

            async def second_writes() -> bool:
                return len(await tags(log, EpochOpened)) == 2

            await until(second_writes, "the standby writes", within=5)
            await log.commit(report(2))

            async def published_again() -> bool:
                return len(await tags(log, PoolPublished)) == 2

            await until(published_again, "the standby publishes")
    beating.cancel()
    await log.close()
