"""A real NATS server with a real allocator process behind it, told of manifests by a bridge's core.

For tests that use the command `dra` in between, which wants a thread without a loop: nothing here is
async. The allocator records the hash of its state behind every fact.
"""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from facts import everything, found
from lab import Lab, Object
from processes import LEAN, environment
from servers import NatsServer
from waiting import until

from dra_shared.events.allocations import AllocatedClaim, ClaimAllocated, ClaimUnsatisfiable
from dra_shared.events.cluster import ClassObserved
from dra_shared.events.envelope import Envelope
from dra_shared.events.writers import StateRecorded
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect

PATIENCE = 30.0

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", AllocatedClaim, ClaimUnsatisfiable)


class World:
    """A log with an allocator behind it; a `Lab`, which does not decide here, is the bridge."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._bridge = Lab()
        self._told = 0

    def apply(self, *objects: Object) -> None:
        """The objects are there: the log tells of them."""
        self._bridge.apply(*objects)
        records = self._bridge.rehearsal.records
        told = [record.envelope for record in records[self._told :]]
        _on(self.url, lambda log: log.commit(told))
        self._told = len(records)

    def hash(self) -> str:
        """The hash of the allocator's state, asked for by a fact that changes nothing."""
        return _on(self.url, _hash)

    def log(self) -> list[str]:
        """All that stands in the log."""
        return _on(self.url, _lines)

    def given(self, claim: str) -> AllocatedClaim:
        """What the allocator gave the claim, as soon as it has."""
        return _on(self.url, lambda log: _answer(log, claim, AllocatedClaim))

    def refusal(self, claim: str) -> ClaimUnsatisfiable:
        """Why the claim has nothing, as soon as the allocator said so."""
        return _on(self.url, lambda log: _answer(log, claim, ClaimUnsatisfiable))


@contextmanager
def a_world(folder: Path, **settings: str) -> Iterator[World]:
    """A server with its data in the folder, and an allocator with these settings."""
    with NatsServer(folder) as server:
        own = environment(server.url, RECORD_EVERY="1", **LEAN, **settings)
        with subprocess.Popen([sys.executable, "-m", "dra_allocator"], env=own) as process:
            try:
                yield World(server.url)
            finally:
                process.kill()


def _on(url: str, work: Callable[[JetStreamLog], Coroutine[Any, Any, T]]) -> T:
    """The outcome of some work on the log."""

    async def run() -> T:
        log = JetStreamLog(await connect(url, "test"))
        await log.ensure_stream()
        try:
            return await work(log)
        finally:
            await log.close()

    return asyncio.run(run())


async def _hash(log: JetStreamLog) -> str:
    (*_, seen) = await found(log, ClassObserved)
    last = await log.last_sequence()
    (place,) = await log.commit([Envelope(id=f"again:{last}", actor="test", fact=seen)])

    async def recorded() -> list[StateRecorded]:
        return [one for one in await found(log, StateRecorded) if one.upto >= place]

    hashes = await until(recorded, "the state is recorded", within=PATIENCE)
    return hashes[-1].state_hash


async def _lines(log: JetStreamLog) -> list[str]:
    return [f"{record.sequence} {record.envelope}" for record in await everything(log)]


async def _answer(log: JetStreamLog, claim: str, kind: type[AnswerT]) -> AnswerT:
    async def said() -> list[AnswerT]:
        return [one for one in await _answers(log, claim) if isinstance(one, kind)]

    answers = await until(said, f"the allocator speaks of claim {claim}", within=PATIENCE)
    return answers[-1]


async def _answers(log: JetStreamLog, claim: str) -> list[AllocatedClaim | ClaimUnsatisfiable]:
    given = [one for fact in await found(log, ClaimAllocated) for one in fact.claims]
    refusals = await found(log, ClaimUnsatisfiable)
    return [
        *(one for one in given if one.claim.name == claim),
        *(one for one in refusals if any(ref.name == claim for ref in one.claims)),
    ]
