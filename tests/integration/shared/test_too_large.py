"""An event that NATS would never take is an error that names it, not a silence without end."""

from pathlib import Path

import pytest
from facts import an_event
from servers import NatsCluster, NatsServer

from dra_shared.events.envelope import Envelope
from dra_shared.events.mirror import AllocationRefused
from dra_shared.ids import ObjectRef
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import EventTooLargeError
from dra_shared.runtime.bus import connect

TOO_LARGE = 1_048_576


def a_large_event(identity: str, size: int) -> Envelope:
    claim = ObjectRef("ns", "c", "c-uid")
    fact = AllocationRefused(claim=claim, status=422, message="x" * size)
    return Envelope(id=identity, actor="test", fact=fact)


async def an_odd_group_is_refused_and_the_rest_goes_on(log: JetStreamLog) -> None:
    await log.ensure_stream()
    epoch = await log.open_epoch("allocator", "a")
    odd = [an_event(1), a_large_event("too-large", TOO_LARGE), an_event(2)]
    with pytest.raises(EventTooLargeError, match=r"event too-large has \d+ bytes .* 1048576"):
        await log.commit(odd, epoch=epoch)
    await log.commit([an_event(3)], epoch=epoch)
    await log.close()


async def test_on_one_server(nats_server: NatsServer) -> None:
    await an_odd_group_is_refused_and_the_rest_goes_on(
        JetStreamLog(await connect(nats_server.url, "test"))
    )


async def test_on_three_servers(tmp_path: Path) -> None:
    with NatsCluster(tmp_path) as cluster:
        client = await connect(",".join(cluster.urls), "test")
        await an_odd_group_is_refused_and_the_rest_goes_on(JetStreamLog(client, replicas=3))
