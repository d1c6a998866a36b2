"""A report that fits into no event is refused where the operator sees it; all else goes on."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from facts import found
from node import Kubelet, Node, a_claim, ids
from node_facts import GPU, told
from servers import NatsServer
from waiting import until

from dra_node_agent.edge.ledger_file import open_ledger
from dra_node_agent.edge.outbox import Outbox
from dra_shared.events.nodes import (
    AgentStarted,
    AgentStopped,
    DeviceFaultRaised,
    DevicesReported,
    ReportedDevice,
)
from dra_shared.kube.devices import Device, DeviceAttribute
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect

D0 = {"serial": "S0", "name": "d0"}
HOT = {"cause": "hot", "severity": "critical"}
MANY = [
    {"serial": f"T{n}", "name": f"t{n}", "attributes": {"model": {"string": "x" * 200}}}
    for n in range(4000)
]


class Settled:
    """A node whose inventory file can be written, and what its agent's endpoint says."""

    def __init__(self, node: Node, path: Path) -> None:
        self.node = node
        self._path = path

    def set(self, *devices: dict[str, Any]) -> None:
        temporary = self._path.with_suffix(".new")
        temporary.write_text(json.dumps({GPU: {"devices": devices}}))
        temporary.rename(self._path)

    async def get(self, path: str) -> str:
        lines = [json.loads(line) for line in self.node.output().splitlines()]
        port = [line["http_port"] for line in lines if "http_port" in line][-1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
        return answer

    async def unready(self) -> bool:
        return f"missing: a report of {GPU} that the log takes" in await self.get("/readyz")

    async def ready(self) -> bool:
        return " 200 " in await self.get("/readyz")


@pytest.fixture
async def settled(nats_server: NatsServer, tmp_path: Path) -> AsyncIterator[Settled]:
    path = tmp_path / "inventory.json"
    settings = {"INVENTORY_FILE": str(path), "HTTP_PORT": "0", "HTTP_HOST": "127.0.0.1"}
    path.write_text(json.dumps({GPU: {"devices": [D0]}}))
    async with Node(nats_server.url, **settings) as node:
        yield Settled(node, path)


async def test_too_many_devices_are_refused_until_there_are_fewer(settled: Settled) -> None:
    node = settled.node
    await until(lambda: told(node.log, DevicesReported), "the first report")
    settled.set({**D0, "faults": [HOT]}, *MANY)
    await until(settled.unready, "the agent says what is missing")
    assert f'report_too_large{{driver="{GPU}"}} 1.0' in await settled.get("/metrics")
    (fault,) = await until(lambda: told(node.log, DeviceFaultRaised), "the fault is told")
    assert fault.device == "d0"
    assert len(await told(node.log, DevicesReported)) == 1
    assert node.output().count("devices not reported: they are too large for the log") == 1
    settled.set(D0, *MANY[:2])
    await until(settled.ready, "the agent is ready again")

    async def last() -> bool:
        return len((await told(node.log, DevicesReported))[-1].devices) == 3

    await until(last, "the report is told")


async def test_an_agent_that_starts_with_too_many_devices_serves_the_kubelet(
    settled: Settled,
) -> None:
    node = settled.node
    node.kill()
    settled.set(D0, *MANY)
    await node.start()
    await until(settled.unready, "the agent says what is missing")
    await node.allocator.allocate(a_claim("c1"), "d0")
    async with Kubelet(node) as kubelet:
        ids(await kubelet.prepare(a_claim("c1")))
    assert node.stop() == 0
    assert len(await told(node.log, AgentStopped)) == 1


async def test_a_fact_that_the_log_never_takes_holds_up_no_other(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    log = JetStreamLog(await connect(nats_server.url, "test"))
    await log.ensure_stream()
    ledger = open_ledger(tmp_path, "n", "b")
    large = Device(name="d0", attributes={"a": DeviceAttribute(string="x" * 1_048_576)})
    ledger.tell(
        AgentStarted(node="n", boot_id="b", agent_version="1", drivers=()),
        DevicesReported(
            node="n", driver=GPU, devices=(ReportedDevice(identity="S0", device=large),)
        ),
        AgentStopped(node="n", boot_id="b", reason="told to stop"),
    )
    outbox = Outbox(ledger)
    while await outbox.send(log):
        pass
    assert len(await told(log, AgentStarted)) == len(await told(log, AgentStopped)) == 1
    assert await told(log, DevicesReported) == []
    ledger.close()
    await log.close()


async def test_a_server_that_takes_too_little_is_told_until_it_is_mended(tmp_path: Path) -> None:
    with NatsServer(tmp_path, more="max_payload: 65536\n") as small:
        node = Node(small.url)

        async def told() -> bool:
            return "set max_payload to" in node.output()

        try:
            await node.start()
            await until(told, "the operator is told")
            small.kill()
            with NatsServer(tmp_path, port=small.port) as mended:
                log = JetStreamLog(await connect(mended.url, "test"))
                await log.ensure_stream()
                await until(lambda: found(log, AgentStarted), "the log hears of the agent")
                await log.close()
        finally:
            node.kill()
            shutil.rmtree(node.root)
