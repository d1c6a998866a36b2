"""The bridge's loop: watches and the log change the mirror, the mirror asks for facts and writes.

Everything runs on one event loop. Each change names the work to look at again; one round looks
at all of it, appends the facts that the log lacks, and sends the writes that the API lacks.
"""

import asyncio
from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

import structlog
from prometheus_client import Counter, Gauge

from dra_api_bridge.core.facts import WRITER, new_facts
from dra_api_bridge.core.features import UnknownFeatureError, check
from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import FEATURES, Kind, KubeObject, Topic, Work
from dra_api_bridge.core.observed import Change
from dra_api_bridge.core.requests import AnyWrite
from dra_api_bridge.core.steps import end, miss, next_writes, refuse
from dra_api_bridge.core.writes import Later
from dra_api_bridge.edge.api import Api, connected
from dra_api_bridge.edge.survey import Survey, first_survey, later_surveys
from dra_api_bridge.edge.watch import Watch
from dra_api_bridge.edge.writer import Done, Refused, Stale, Writer
from dra_api_bridge.settings import BridgeSettings
from dra_shared.events import subjects
from dra_shared.events.envelope import Envelope
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import Epoch, EventLog
from dra_shared.runtime import process
from dra_shared.runtime.bus import connect
from dra_shared.runtime.endpoint import Readiness
from dra_shared.runtime.parked import count_unreadable
from dra_shared.runtime.process import StartAgainError
from dra_shared.runtime.settings import SettingsError
from dra_shared.runtime.writer import as_only_writer

ABOUT: Final = "Tells the log what Kubernetes asks for, and Kubernetes what the allocator decided."

READS: Final = (
    subjects.POOLS,
    subjects.CLUSTER,
    subjects.CLAIMS,
    subjects.PODS,
    subjects.ALLOCATIONS,
    subjects.MIRROR,
    subjects.epoch(WRITER),
)
NODE_PAUSE: Final = 0.2
"""Seconds in which a node's changes are gathered: every pod that comes or goes is one."""

FACTS: Final = Counter("dra_bridge_facts_total", "Facts appended", ["tag"])
DROPPED: Final = Counter("dra_bridge_dropped_fields_total", "Fields the server dropped", ["field"])
REFUSALS: Final = Counter("dra_bridge_refusals_total", "Writes the server refused", ["what"])
TOO_LARGE: Final = Gauge("dra_bridge_too_large", "Things that are too large for an event")

_log = structlog.get_logger()


class Bridge:
    """One epoch of the bridge. It begins when it knows the log and a list of each kind."""

    def __init__(self, log: EventLog, epoch: Epoch, readiness: Readiness) -> None:
        self._log = log
        self._epoch = epoch
        self._actor = f"{WRITER}@{epoch.sequence}"
        self._readiness = readiness
        self._unknown = dict.fromkeys(("log", *Kind))
        self._open = False
        self._due: dict[Work, None] = {}
        self._nodes: dict[Work, None] = {}
        self._wake = asyncio.Event()
        self._lost = asyncio.Event()
        self._later: dict[Work, float] = {}
        for what in self._unknown:
            readiness.missing(what)

    async def run(self, api: Api, overrides: Sequence[str] = ()) -> None:
        """Works until cancelled; raises FencedError when another instance has taken over.

        Raises StartAgainError when the API server has become one that serves things elsewhere.
        """
        survey = await first_survey(api, overrides, self._readiness)
        served = survey.served
        self._mirror = Mirror(survey.features)
        self._writer = Writer(api, served.resource_api)
        async with asyncio.TaskGroup() as self._group:
            self._group.create_task(self._read())
            self._group.create_task(self._watch_server(api, survey))
            for kind in Kind:
                if kind in served.paths:
                    watch = Watch(api, kind, served.paths[kind], self)
                    self._group.create_task(watch.follow())
                else:
                    self.listed(kind, (), 0)
            await self._settle()

    def listed(self, kind: Kind, objects: Sequence[KubeObject], version: int) -> None:
        """Takes a whole list in."""
        for change in self._mirror.observed.replaced(kind, objects):
            self._look(self._mirror.take_change(change))
        self._mirror.saw(kind, version)
        self._know(kind)

    def changed(self, change: Change, version: int) -> None:
        """Takes one change in."""
        works = self._mirror.take_change(change)
        self._mirror.saw(change.kind, version)
        self._look(works)

    def advanced(self, kind: Kind, version: int) -> None:
        """Takes in that nothing changed."""
        self._mirror.saw(kind, version)

    def lost(self, kind: Kind) -> None:  # noqa: ARG002 - one kind's loss is all kinds'
        """Takes in that the server was away."""
        self._lost.set()

    async def _watch_server(self, api: Api, known: Survey) -> None:
        """Tells the features anew when the server that answers now has others."""
        async for now in later_surveys(api, known, self._lost):
            if not now.serves_the_same(known):
                message = f"API server {now.served.version} serves other paths than before"
                raise StartAgainError(message)
            if now.features != self._mirror.features:
                _log.info("the API server changed", version=now.served.version)
                self._mirror.features = now.features
                self._look({FEATURES})

    async def _read(self) -> None:
        async for batch in self._log.read(subjects=READS):
            count_unreadable(batch)
            for record in batch:
                self._look(self._mirror.take_record(record))
            if not batch or self._mirror.recorded.applied >= self._epoch.sequence:
                self._know("log")

    def _know(self, what: str) -> None:
        """Nothing is decided before all is known: what is not seen yet would seem gone."""
        self._unknown.pop(what, None)
        self._readiness.there(what)
        if not self._open and not self._unknown:
            self._open = True
            self._look(self._mirror.everything())

    def _look(self, works: Iterable[Work]) -> None:
        for work in works:
            if work.topic is not Topic.NODE:
                self._due[work] = None
            elif not self._nodes:
                self._nodes[work] = None
                asyncio.get_running_loop().call_later(NODE_PAUSE, self._look_at_nodes)
            else:
                self._nodes[work] = None
        if self._open and self._due:
            self._wake.set()

    def _look_at_nodes(self) -> None:
        self._due |= self._nodes
        self._nodes = {}
        if self._open and self._due:
            self._wake.set()

    async def _settle(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            works, self._due = self._due, {}
            self._send(works)
            events = self._new_facts(works)
            for event in events:
                FACTS.labels(event.fact.__struct_config__.tag).inc()
            if events:
                await self._log.commit(events, epoch=self._epoch)

    def _new_facts(self, works: Iterable[Work]) -> Sequence[Envelope]:
        """What to append; what is too large for it is told once, and to the pods that need it."""
        known = dict(self._mirror.attempts.too_large)
        events = new_facts(self._mirror, works, self._actor)
        found = self._mirror.attempts.too_large
        for work in found.keys() - known.keys():
            _log.error("too large for the log", what=work, bytes=found[work])
            self._look(works)
        TOO_LARGE.set(len(found))
        return events

    def _send(self, works: Iterable[Work]) -> None:
        loop = asyncio.get_running_loop()
        for work in works:
            for write in next_writes(self._mirror, work, loop.time()):
                if isinstance(write, Later):
                    self._look_later(work, loop.time() + write.seconds)
                else:
                    self._group.create_task(self._write(write))

    def _look_later(self, work: Work, at: float) -> None:
        """Looks at the work then, unless that is to happen sooner: then it is found out anew."""
        if self._later.get(work, inf) > at:
            self._later[work] = at
            asyncio.get_running_loop().call_at(at, self._look_now, work, at)

    def _look_now(self, work: Work, at: float) -> None:
        if self._later.get(work) == at:
            del self._later[work]
        self._look((work,))

    async def _write(self, write: AnyWrite) -> None:
        what = type(write).__name__
        match await self._writer.write(write):
            case Done(version=version, body=body):
                for field in end(self._mirror, write, version, body):
                    DROPPED.labels(field).inc()
                    _log.warning("field dropped by the API server", field=field)
            case Refused(status=status, message=message):
                refuse(self._mirror, write, status, message)
                REFUSALS.labels(what).inc()
                _log.error("write refused", what=what, status=status, message=message)
            case Stale():
                miss(self._mirror, write)
        self._look(self._mirror.widened((write.work,)))


async def serve(settings: BridgeSettings, readiness: Readiness) -> None:
    """Runs the bridge: stands by until it may write, then serves."""
    try:
        check(settings.overrides)
    except UnknownFeatureError as error:
        raise SettingsError(f"FEATURES={settings.features}: {error}") from error
    name = process.instance_name(settings)
    client = await connect(settings.nats_url, f"{WRITER}/{name}")
    log = JetStreamLog(client, replicas=settings.log_replicas)
    try:
        await log.ensure_stream()
        async with connected(settings.kubeconfig) as api:
            readiness.there("start")
            await as_only_writer(
                client,
                log,
                WRITER,
                name,
                lambda epoch: Bridge(log, epoch, readiness).run(api, settings.overrides),
            )
    finally:
        await log.close()


def main() -> int:
    """Entry point of the process."""
    return process.main(BridgeSettings, WRITER, ABOUT, serve)
