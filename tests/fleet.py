"""Nodes with devices but without agents: their facts in the log, as their agents would write them.

For tests and benchmarks with more nodes than processes can be had. Run the inventory with a long
SILENCE_SECONDS: nobody beats here.
"""

from collections.abc import Iterable, Iterator

from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.nodes import AgentStarted, DevicesReported, ReportedDevice
from dra_shared.kube.devices import Device, DeviceAttribute, DeviceCapacity
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect

DRIVER = "gpu.example.com"
SILENT_FOR_EVER = {"SILENCE_SECONDS": "86400"}


def a_gpu(node: str, index: int) -> ReportedDevice:
    """A GPU as the simulated profile reports it."""
    return ReportedDevice(
        identity=f"{node}/{index}",
        device=Device(
            name=f"gpu-{index}",
            attributes={
                "index": DeviceAttribute(integer=index),
                "model": DeviceAttribute(string="LATEST-GPU-MODEL"),
                "driverVersion": DeviceAttribute(version="1.0.0"),
            },
            capacity={"memory": DeviceCapacity(value="80Gi")},
        ),
    )


async def report(nats_url: str, nodes: Iterable[str], gpus: int = 8) -> None:
    """Tells the log of these nodes' devices."""
    log = JetStreamLog(await connect(nats_url, "fleet"))
    await log.ensure_stream()
    await log.commit(list(_events(nodes, gpus)))
    await log.close()


def _events(nodes: Iterable[str], gpus: int) -> Iterator[Envelope]:
    for node in nodes:
        facts: tuple[AnyFact, ...] = (
            AgentStarted(node=node, boot_id="boot", agent_version="fleet", drivers=(DRIVER,)),
            DevicesReported(
                node=node,
                driver=DRIVER,
                devices=tuple(a_gpu(node, index) for index in range(gpus)),
            ),
        )
        for number, fact in enumerate(facts):
            yield Envelope(id=f"{node}:fleet:{number}", correlation=node, actor=node, fact=fact)
