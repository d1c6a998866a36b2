"""The demo's hands and eyes: applies manifests to a local system, waits, and looks at all there is."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from dra_cli.core.position import THE_END
from dra_cli.demo import objects
from dra_cli.demo.environment import Container, parse
from dra_cli.edge.logs import Source, opened, records
from dra_cli.edge.rest import Api, Object
from dra_cli.local.system import LocalSystem
from dra_shared.events.cluster import NodeObserved
from dra_shared.events.nodes import ClaimPrepared
from dra_shared.log.protocol import Record

PATIENCE: Final = 30.0
"""Seconds in which what was applied must have happened."""

LOOK_AGAIN: Final = 0.05
DRA: Final = "/apis/resource.k8s.io/v1"


class NotInTimeError(Exception):
    """The system runs but did not do what it should; the message says what is lacking."""

    def __init__(self, what: str) -> None:
        super().__init__(f"after {PATIENCE:g} s: {what}")


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What Kubernetes and the log show. `logs`: text by `namespace/pod/container`."""

    slices: tuple[Object, ...]
    claims: tuple[Object, ...]
    pods: tuple[Object, ...]
    logs: dict[str, str]
    records: tuple[Record, ...]

    @property
    def containers(self) -> dict[str, Container]:
        """The environment of each container that has printed it."""
        return {name: parse(log) for name, log in self.logs.items()}


class DemoCluster:
    """A running local system with what is applied to it."""

    def __init__(self, system: LocalSystem, api: Api) -> None:
        self._system = system
        self._api = api
        self._log = Source(system.nats_url)

    async def apply(self, manifests: Iterable[Object]) -> None:
        """Creates the objects in order; raises ApiRefusedError."""
        for manifest in manifests:
            await self._api.create(manifest)

    async def offered(self) -> None:
        """Waits until the log tells of all nodes, and Kubernetes shows what devices they offer.

        Raises NotInTimeError, or ProgramEndedError when a part of the system ended.
        """
        await self._until(self._not_observed)
        await self._until(self._not_offered)

    async def settled(self) -> None:
        """Waits until all pods run, and the log tells all of it; raises as `offered` does."""
        await self._until(self._not_running)
        await self._until(self._not_prepared)

    async def look(self) -> Seen:
        """All there is to see."""
        pods = await self._api.list("/api/v1/pods")
        logs: dict[str, str] = {}
        for pod in pods:
            namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            for container in objects.containers(pod):
                text = await self._api.pod_log(namespace, name, container)
                logs[f"{namespace}/{name}/{container}"] = text
        return Seen(
            slices=tuple(await self._api.list(f"{DRA}/resourceslices")),
            claims=tuple(await self._api.list(f"{DRA}/resourceclaims")),
            pods=tuple(pods),
            logs=logs,
            records=tuple(await self.records()),
        )

    async def records(self) -> list[Record]:
        """All that stands in the log now."""
        async with opened(self._log) as log:
            return [record async for record in records(log, THE_END)]

    async def _until(self, lacking: Callable[[], Awaitable[list[str]]]) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while lacks := await lacking():
            self._system.supervisor.check()
            if loop.time() > deadline:
                raise NotInTimeError("; ".join(lacks))
            await asyncio.sleep(LOOK_AGAIN)

    async def _not_observed(self) -> list[str]:
        facts = (record.envelope.fact for record in await self.records())
        observed = {fact.name for fact in facts if isinstance(fact, NodeObserved)}
        nodes = self._system.layout.nodes
        return [f"the log does not tell of node {node}" for node in nodes if node not in observed]

    async def _not_offered(self) -> list[str]:
        slices = await self._api.list(f"{DRA}/resourceslices")
        offered = {found["spec"].get("nodeName") for found in slices}
        nodes = self._system.layout.nodes
        return [f"node {node} offers no devices" for node in nodes if node not in offered]

    async def _not_running(self) -> list[str]:
        waiting = objects.not_running(await self._api.list("/api/v1/pods"))
        return [f"pod {pod} does not run" for pod in waiting]

    async def _not_prepared(self) -> list[str]:
        claims = await self._api.list(f"{DRA}/resourceclaims")
        facts = (record.envelope.fact for record in await self.records())
        prepared = {fact.claim.uid for fact in facts if isinstance(fact, ClaimPrepared)}
        names = (claim["metadata"] for claim in claims if claim["metadata"]["uid"] not in prepared)
        return [f"the log does not tell that {m['namespace']}/{m['name']} is set up" for m in names]
