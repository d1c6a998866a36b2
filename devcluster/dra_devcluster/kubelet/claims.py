"""Which claims are prepared on a node, and for which pods: prepared once, undone by the last.

Follows the kubelet's claim cache (pkg/kubelet/cm/dra). In memory only: after a restart every
claim is prepared again, which drivers must bear.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from dra_devcluster.kubelet.client import DRA, Client, Object
from dra_devcluster.kubelet.driver import ClaimReference, Driver, DriverError, PreparedDevice
from dra_devcluster.kubelet.plugins import PluginRegistry


class ClaimNotUsableError(Exception):
    """The pod may not use the claim, or not yet; it will be looked at again."""


class Held(msgspec.Struct):
    """A claim on this node: whom it needs, who uses it, and its devices once prepared."""

    reference: ClaimReference
    drivers: tuple[str, ...]
    pods: set[str] = msgspec.field(default_factory=set)
    devices: dict[str, tuple[PreparedDevice, ...]] = msgspec.field(default_factory=dict)

    def unprepared(self) -> list[str]:
        """The drivers that have not prepared the claim."""
        return [driver for driver in self.drivers if driver not in self.devices]

    def all_devices(self) -> list[PreparedDevice]:
        """The devices of all drivers."""
        return [device for driver in self.drivers for device in self.devices.get(driver, ())]


class ClaimCache:
    """The claims of one node."""

    def __init__(self, client: Client, registry: PluginRegistry) -> None:
        self._client = client
        self._registry = registry
        self._held: dict[str, Held] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def prepare(self, pod: Object) -> dict[str, list[PreparedDevice]]:
        """The pod's devices by the pod's own name for each claim, all of them ready.

        Raises ``ClaimNotUsableError`` and ``DriverError``; both mean: ask again later.
        """
        claims = {
            pod_claim["name"]: await self._read(pod, pod_claim)
            for pod_claim in pod["spec"].get("resourceClaims", [])
        }
        uids = {claim["metadata"]["uid"] for claim in claims.values()}
        async with self._locked(uids):
            for claim in claims.values():
                self._hold(claim, pod)
            await self._prepare_all([self._held[uid] for uid in sorted(uids)])
            return {
                name: self._held[claim["metadata"]["uid"]].all_devices()
                for name, claim in claims.items()
            }

    async def adopt(self, pod: Object) -> None:
        """Take over what an earlier life of this kubelet may have prepared for an ending pod."""
        for pod_claim in pod["spec"].get("resourceClaims", []):
            try:
                self._hold(await self._read(pod, pod_claim), pod)
            except ClaimNotUsableError:
                continue

    async def release(self, pod_uid: str) -> None:
        """Unprepare what only this pod used. Raises ``DriverError``: ask again later."""
        uids = {uid for uid, held in self._held.items() if pod_uid in held.pods}
        async with self._locked(uids):
            ending = [self._held[uid] for uid in sorted(uids) if self._held[uid].pods == {pod_uid}]
            for driver, claims in _by_driver(ending, lambda held: list(held.drivers)).items():
                await self._connected(driver).unprepare([held.reference for held in claims])
            for held in ending:
                del self._held[held.reference.uid]
            for uid in uids & self._held.keys():
                self._held[uid].pods.discard(pod_uid)

    @asynccontextmanager
    async def _locked(self, uids: set[str]) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for uid in sorted(uids):
                await stack.enter_async_context(self._locks[uid])
            yield

    async def _read(self, pod: Object, pod_claim: Object) -> Object:
        namespace, name = pod["metadata"]["namespace"], claim_name(pod, pod_claim)
        if name is None:
            raise ClaimNotUsableError(f"claim {pod_claim['name']!r} of the pod does not exist yet")
        claim = await self._client.find(f"{DRA}/namespaces/{namespace}/resourceclaims/{name}")
        if claim is None:
            raise ClaimNotUsableError(f"ResourceClaim {namespace}/{name} does not exist")
        status = claim.get("status", {})
        uids = [entry["uid"] for entry in status.get("reservedFor", [])]
        if pod["metadata"]["uid"] not in uids:
            why = f"pod {pod['metadata']['name']} is not allowed to use ResourceClaim {name}"
            raise ClaimNotUsableError(why)
        if "allocation" not in status:
            raise ClaimNotUsableError(f"ResourceClaim {namespace}/{name} is not allocated")
        return claim

    def _hold(self, claim: Object, pod: Object) -> None:
        metadata = claim["metadata"]
        results = claim["status"]["allocation"].get("devices", {}).get("results", [])
        held = self._held.setdefault(
            metadata["uid"],
            Held(
                ClaimReference(metadata["namespace"], metadata["uid"], metadata["name"]),
                tuple(dict.fromkeys(result["driver"] for result in results)),
            ),
        )
        held.pods.add(pod["metadata"]["uid"])

    async def _prepare_all(self, claims: list[Held]) -> None:
        for name, waiting in _by_driver(claims, Held.unprepared).items():
            prepared = await self._connected(name).prepare([held.reference for held in waiting])
            for held in waiting:
                held.devices[name] = prepared[held.reference.uid]

    def _connected(self, name: str) -> Driver:
        driver = self._registry.driver(name)
        if driver is None:
            raise DriverError(f"DRA driver {name} is not registered")
        return driver


def _by_driver(claims: list[Held], drivers: Callable[[Held], list[str]]) -> dict[str, list[Held]]:
    grouped: dict[str, list[Held]] = {}
    for held in claims:
        for driver in drivers(held):
            grouped.setdefault(driver, []).append(held)
    return grouped


def claim_name(pod: Object, pod_claim: Object) -> str | None:
    """The claim behind an entry of the pod's ``resourceClaims``; None while there is none."""
    if name := pod_claim.get("resourceClaimName"):
        return str(name)
    statuses = pod.get("status", {}).get("resourceClaimStatuses", [])
    names: dict[str, str] = {
        entry["name"]: entry["resourceClaimName"]
        for entry in statuses
        if "resourceClaimName" in entry
    }
    return names.get(pod_claim["name"])


def devices_of(container: Object, prepared: dict[str, list[PreparedDevice]]) -> list[str]:
    """The CDI ids for a container, each once: of the claims, and the requests, it names."""
    ids: dict[str, None] = {}
    for wanted in container.get("resources", {}).get("claims", []):
        request = wanted.get("request", "")
        for device in prepared.get(wanted["name"], []):
            if not request or not device.requests or request in device.requests:
                ids |= dict.fromkeys(device.cdi_ids)
    return list(ids)
