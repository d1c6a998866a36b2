"""The inventory as a process, on a real NATS server."""

import asyncio
from contextlib import AbstractAsyncContextManager

from facts import found, tell
from processes import a_part, questions_for_leases
from servers import NatsServer
from waiting import until

from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.nodes import (
    AgentStarted,
    DeviceFaultRaised,
    DevicesReported,
    ReportedDevice,
    Severity,
)
from dra_shared.events.pools import NodeLost, PoolPublished, PoolWithdrawn, WithdrawalReason
from dra_shared.events.writers import EpochOpened
from dra_shared.kube.devices import Device, DeviceAttribute
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect
from dra_shared.runtime.liveness import beat


def inventory(
    server: NatsServer, name: str
) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
    return a_part("dra_inventory", server, name, SILENCE_SECONDS="8")


def report(count: int, node: str = "n.1", attribute: str = "") -> list[Envelope]:
    attributes = {"model": DeviceAttribute(string=attribute)} if attribute else None
    devices = tuple(
        ReportedDevice(identity=str(n), device=Device(name=f"gpu-{n}", attributes=attributes))
        for n in range(count)
    )
    started = AgentStarted(node=node, boot_id="b", agent_version="0", drivers=("d.example",))
    reported = DevicesReported(node=node, driver="d.example", devices=devices)
    facts: tuple[AnyFact, ...] = (started, reported)
    return [
        Envelope(id=f"{node}:{count}:{n}", actor=node, fact=fact) for n, fact in enumerate(facts)
    ]


def faults(node: str, count: int) -> list[AnyFact]:
    """So many faults, each with a cause of 1 kB."""
    return [
        DeviceFaultRaised(
            node=node,
            driver="d.example",
            device=f"gpu-{n}",
            cause="x" * 1000,
            severity=Severity.DEGRADED,
        )
        for n in range(count)
    ]


async def test_pools_are_published_and_withdrawn_when_the_agent_falls_silent(
    nats_server: NatsServer,
) -> None:
    client = await connect(nats_server.url, "test")
    log = JetStreamLog(client)
    await log.ensure_stream()
    async with inventory(nats_server, "a"):
        beating = asyncio.create_task(beat(client, "n.1"))
        await log.commit(report(3))
        await until(lambda: found(log, PoolPublished), "the pool is published")
        beating.cancel()
        await until(lambda: found(log, PoolWithdrawn), "the pool is withdrawn", within=25)
        assert len(await found(log, NodeLost)) == 1
    await log.close()


async def test_a_standby_takes_over_within_five_seconds_of_a_kill(nats_server: NatsServer) -> None:
    client = await connect(nats_server.url, "test")
    log = JetStreamLog(client)
    await log.ensure_stream()
    beating = asyncio.create_task(beat(client, "n.1"))
    async with inventory(nats_server, "a") as first:
        await until(lambda: found(log, EpochOpened), "the first writes")
        questions = await questions_for_leases(client)
        async with inventory(nats_server, "b"):
            await log.commit(report(1))
            await until(lambda: found(log, PoolPublished), "the first publishes")
            assert len(await found(log, EpochOpened)) == 1
            await questions.next_msg(30)
            first.kill()
            await until(lambda: found(log, EpochOpened, 2), "the standby writes", within=5)
            await log.commit(report(2))
            await until(lambda: found(log, PoolPublished, 2), "the standby publishes")
    beating.cancel()
    await log.close()


async def test_a_node_with_too_large_a_pool_stops_no_other(nats_server: NatsServer) -> None:
    log = JetStreamLog(await connect(nats_server.url, "test"))
    await log.ensure_stream()

    async def pools(*wanted: str) -> bool:
        return {pool.pool for pool in await found(log, PoolPublished)} == set(wanted)

    await log.commit(report(3500, attribute="x" * 190))
    await tell(log, *faults("n.1", 250))
    async with inventory(nats_server, "a"):
        (refusal,) = await until(lambda: found(log, PoolWithdrawn), "the pool is refused")
        assert (refusal.node, refusal.reason) == ("n.1", WithdrawalReason.TOO_LARGE)
        assert refusal.size > 1_048_576, "NATS would not have taken it"
        await log.commit(report(1, "n.2"))
        await until(lambda: pools("n.2"), "the other node's pool is published")
    async with inventory(nats_server, "b"):
        await log.commit(report(1, "n.3"))
        await until(lambda: pools("n.2", "n.3"), "also after a restart")
        await log.commit(report(2))
        await until(lambda: pools("n.1", "n.2", "n.3"), "the node itself, once it reports less")
    assert len(await found(log, PoolWithdrawn)) == 1
    await log.close()
