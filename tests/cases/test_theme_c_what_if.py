"""Theme C, row 45: deciding for trial leaves nothing behind, and tells what will be decided.

A real NATS server and a real allocator process, which records the hash of its state behind every
fact. The bridge's facts come from a `Lab`, which does not decide here.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from facts import everything, found
from lab import Lab, Object, a_claim, a_class, a_part, a_pool_of_parts, a_request, a_slice
from servers import NatsServer
from unit.cli.ledger import dra
from waiting import until

from dra_shared.events.allocations import AllocatedClaim, ClaimAllocated
from dra_shared.events.cluster import ClassObserved
from dra_shared.events.envelope import Envelope
from dra_shared.events.writers import StateRecorded
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect

pytestmark = pytest.mark.timeout(180)

DRY_RUNS = 100
SHAREABLE = "device.allowMultipleAllocations"
SHARE = a_request(select=SHAREABLE)
PARTS = a_part("s0", "k", 1, allowMultipleAllocations=True), a_part("x0", "k", 1)
CLUSTER = (a_class(), *a_pool_of_parts("n1", "k", 1, *PARTS))
C1 = a_claim("c1", SHARE)


class World:
    """A log with an allocator behind it, and a bridge that tells what manifests say."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._bridge = Lab()
        self._told = 0

    def apply(self, *objects: Object) -> None:
        """The objects are there, and the allocator has nothing more to say about them."""
        self._bridge.apply(*objects)
        records = self._bridge.rehearsal.records
        self.tell(*(record.envelope for record in records[self._told :]))
        self._told = len(records)

    def tell(self, *events: Envelope) -> None:
        """Appends the events, and waits until the allocator has recorded its state behind them."""
        asyncio.run(self._tell(events))

    def hash(self) -> str:
        """The hash of the allocator's state, asked for by a fact that changes nothing."""
        return asyncio.run(self._hash())

    def log(self) -> list[str]:
        """All that stands in the log."""
        return asyncio.run(self._log())

    def given(self, claim: str) -> AllocatedClaim:
        """What the allocator gave the claim."""
        (got,) = [one for one in asyncio.run(self._given()) if one.claim.name == claim]
        return got

    async def _tell(self, events: tuple[Envelope, ...]) -> None:
        log = await self._open()
        (*_, last) = await log.commit(events)
        await until(lambda: _recorded(log, last), "the state is recorded", within=30)
        await log.close()

    async def _hash(self) -> str:
        log = await self._open()
        (*_, seen) = await found(log, ClassObserved)
        last = await log.last_sequence()
        again = Envelope(id=f"again:{last}", actor="test", fact=seen)
        (place,) = await log.commit([again])
        hashes = await until(lambda: _recorded(log, place), "the state is recorded", within=30)
        await log.close()
        return hashes[-1].state_hash

    async def _log(self) -> list[str]:
        log = await self._open()
        records = await everything(log)
        await log.close()
        return [f"{record.sequence} {record.envelope}" for record in records]

    async def _given(self) -> list[AllocatedClaim]:
        log = await self._open()
        decisions = await found(log, ClaimAllocated)
        await log.close()
        return [one for decision in decisions for one in decision.claims]

    async def _open(self) -> JetStreamLog:
        log = JetStreamLog(await connect(self.url, "test"))
        await log.ensure_stream()
        return log


async def _recorded(log: JetStreamLog, place: int) -> list[StateRecorded]:
    return [one for one in await found(log, StateRecorded) if one.upto >= place]


@contextmanager
def a_world(folder: Path, **settings: str) -> Iterator[World]:
    with NatsServer(folder) as server:
        environment = os.environ | {
            "NATS_URL": server.url,
            "HTTP_PORT": "-1",
            "RECORD_EVERY": "1",
            **settings,
        }
        with subprocess.Popen([sys.executable, "-m", "dra_allocator"], env=environment) as process:
            try:
                yield World(server.url)
            finally:
                process.kill()


def a_file(folder: Path, *objects: Any) -> str:
    path = folder / "manifests.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def granted(got: AllocatedClaim) -> list[tuple[str, str, str]]:
    return [(one.request, one.pool, one.device) for one in got.allocation.devices.results or ()]


def test_row_45_a_hundred_dry_runs_leave_log_and_state_as_they_were(tmp_path: Path) -> None:
    asked = a_file(tmp_path, C1, a_claim("whole", a_request(select=f"!{SHAREABLE}")))
    with a_world(tmp_path / "tried") as tried, a_world(tmp_path / "untried") as untried:
        for world in (tried, untried):
            world.apply(*CLUSTER, a_claim("c0", SHARE))
        before, log = tried.hash(), tried.log()
        answers = {
            dra("allocate", "-f", asked, "--nats", tried.url).stdout for _ in range(DRY_RUNS)
        }
        assert tried.log()[: len(log)] == log
        assert all("StateRecorded" in line for line in tried.log()[len(log) :])
        assert tried.hash() == before
        for world in (tried, untried):
            world.apply(C1)
        assert granted(tried.given("c1")) == granted(untried.given("c1")) == [("r", "n1", "s0")]
        assert tried.hash() != before, "a hash that nothing changes would prove nothing"
    assert [claim_in(answer) for answer in answers] == [[("r", "n1", "s0")]]


@pytest.mark.parametrize("policy", ["pack", "spread"])
def test_row_45_a_dry_run_says_what_the_allocator_then_does(tmp_path: Path, policy: str) -> None:
    """Also with the policy that the allocator has, which nobody tells the command."""
    slices = [a_slice(f"n{n}", [f"d{m}" for m in range(4)]) for n in range(4)]
    with a_world(tmp_path / "nats", POLICY=policy) as world:
        world.apply(a_class(), *slices, a_claim("c0"))
        for number, count in enumerate((1, 3, 4, 2), 1):
            claim = a_claim(f"c{number}", a_request(count=count))
            asked = dra("allocate", "-f", a_file(tmp_path, claim), "--nats", world.url)
            world.apply(claim)
            assert claim_in(asked.stdout) == granted(world.given(f"c{number}"))


def claim_in(answer: str) -> list[tuple[str, str, str]]:
    """What the only claim of an answer got."""
    (claim,) = [one for one in yaml.safe_load_all(answer) if one["kind"] == "ResourceClaim"]
    results = claim["status"]["allocation"]["devices"]["results"]
    return [(one["request"], one["pool"], one["device"]) for one in results]
