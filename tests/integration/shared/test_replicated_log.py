"""The log on three servers with three copies: fenced groups, retries, and the loss of a leader."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from facts import an_event, everything, ids
from servers import NatsCluster
from waiting import until

from dra_shared.log.jetstream import STREAM, JetStreamLog
from dra_shared.log.protocol import FencedError
from dra_shared.runtime.bus import connect


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[NatsCluster]:
    with NatsCluster(tmp_path) as made:
        yield made


async def a_log(cluster: NatsCluster) -> JetStreamLog:
    log = JetStreamLog(await connect(",".join(cluster.urls), "test"), replicas=3)
    await log.ensure_stream()
    return log


async def test_groups_are_stored_in_order_once_and_under_their_fence(cluster: NatsCluster) -> None:
    log = await a_log(cluster)
    old = await log.open_epoch("allocator", "a")
    first = await log.commit([an_event(n) for n in range(1200)], epoch=old)
    assert first == tuple(range(2, 1202))
    again = await log.commit([an_event(n) for n in range(1195, 1205)], epoch=old)
    assert again == (*range(1197, 1202), *range(1202, 1207))
    new = await log.open_epoch("allocator", "b")
    with pytest.raises(FencedError):
        await log.commit([an_event(2000), an_event(2001)], epoch=old)
    await log.commit([an_event(3000)], epoch=new)
    stored = [i for i in ids(await everything(log)) if i.startswith("test:")]
    assert stored == [f"test:{n}" for n in range(1205)] + ["test:3000"]
    await log.close()


async def test_groups_committed_at_once_wait_for_their_turn(cluster: NatsCluster) -> None:
    log = await a_log(cluster)
    epoch = await log.open_epoch("allocator", "a")
    await asyncio.gather(
        *(log.commit([an_event(10 * g + n) for n in range(10)], epoch=epoch) for g in range(30))
    )
    assert len(set(ids(await everything(log)))) == 301
    await log.close()


async def test_the_loss_of_the_leader_loses_and_doubles_nothing(cluster: NatsCluster) -> None:
    log = await a_log(cluster)
    epoch = await log.open_epoch("allocator", "a")
    info = await log._client.jetstream().stream_info(STREAM)
    assert info.cluster is not None
    leader = next(s for s in cluster.servers if s.folder.name == info.cluster.leader)

    async def load() -> None:
        for number in range(300):
            await log.commit([an_event(number)], epoch=epoch)

    async def some_are_stored() -> bool:
        return await log.last_sequence() > 20

    loading = asyncio.create_task(load())
    await until(some_are_stored, "some events are stored")
    leader.kill()
    assert not loading.done()
    await asyncio.wait_for(loading, 40)
    stored = [i for i in ids(await everything(log)) if i.startswith("test:")]
    assert stored == [f"test:{n}" for n in range(300)]
    await log.close()
