"""Case D13: a pod that waits is tried again when what it waits for comes, and only then."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from cluster import a_claim, a_class, a_node, a_pod, a_pool, a_request
from facts import everything
from servers import NatsServer
from waiting import until

from dra_allocator.core import decide as deciding
from dra_allocator.core.state import ClusterState
from dra_allocator.service import Service
from dra_allocator.settings import AllocatorSettings
from dra_shared.events.allocations import ClaimAllocated, ClaimUnsatisfiable, Refusal
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import EventLog
from dra_shared.runtime.bus import connect
from dra_shared.runtime.endpoint import Readiness


@pytest.fixture
async def log(nats_server: NatsServer) -> AsyncIterator[EventLog]:
    made = JetStreamLog(await connect(nats_server.url, "test"))
    await made.ensure_stream()
    service = Service(made, AllocatorSettings(), Readiness("start"))
    epoch = await made.open_epoch("allocator", "a")
    tasks = [
        asyncio.create_task(service.follow()),
        asyncio.create_task(service.write(epoch)),
    ]
    yield made
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await made.close()


async def tell(log: EventLog, *facts: AnyFact) -> None:
    last = await log.last_sequence()
    await log.commit(
        [Envelope(id=f"test:{last}:{n}", actor="test", fact=f) for n, f in enumerate(facts)]
    )


async def placements(log: EventLog) -> list[ClaimAllocated]:
    facts = [record.envelope.fact for record in await everything(log)]
    return [fact for fact in facts if isinstance(fact, ClaimAllocated)]


async def refusals(log: EventLog) -> list[ClaimUnsatisfiable]:
    facts = [record.envelope.fact for record in await everything(log)]
    return [fact for fact in facts if isinstance(fact, ClaimUnsatisfiable)]


async def test_a_claim_that_came_first_is_placed_within_two_seconds_of_its_slice(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []
    decide = deciding.decide

    def count(state: ClusterState, uid: str, policy: str) -> object:
        tried.append(time.monotonic())
        return decide(state, uid, policy)

    monkeypatch.setattr("dra_allocator.core.engine.decide", count)
    await tell(log, a_node("n1"), a_claim("c1"), a_pod("p1", "c1"))
    await until(lambda: refusals(log), "the class is missed")
    await asyncio.sleep(2)
    await tell(log, a_class())
    await asyncio.sleep(2)
    assert len(tried) <= 2
    await tell(log, a_pool("n1", ["d0"]))
    await until(lambda: placements(log), "the pod is placed", within=2)
    assert len(tried) == 3


async def test_a_search_that_hit_its_limit_is_tried_again_within_ten_seconds(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "BUDGET", 3)
    await tell(log, a_class(), a_node("n1"), a_pool("n1", [f"d{n}" for n in range(6)]))
    await tell(log, a_claim("c1", a_request(count=6)), a_pod("p1", "c1"))
    (first, *_) = await until(lambda: refusals(log), "the limit is hit")
    assert first.refusal is Refusal.SEARCH_LIMIT
    assert "search limit" in first.summary
    await until(lambda: placements(log), "the pod is placed", within=10)
