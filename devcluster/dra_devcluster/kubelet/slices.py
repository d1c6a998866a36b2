"""ResourceSlices of drivers that went away: deleted, as the kubelet does after a while.

Also at the stand-in's own start, when no driver has registered yet.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

import structlog

from dra_devcluster.kubelet.client import DRA, Client, RefusedError, ServerAwayError
from dra_devcluster.kubelet.plugins import PluginRegistry

LOOK_SECONDS: Final = 0.5
log = structlog.get_logger()


class SliceWiper:
    """Watches over the slices of one node."""

    def __init__(self, client: Client, node: str, registry: PluginRegistry, delay: float) -> None:
        self._client = client
        self._node = node
        self._registry = registry
        self._delay = delay
        self._lost_at: dict[str, float] = {}
        self._wiped: set[str] = set()

    async def wipe_all(self) -> None:
        """Wipe all slices of the node, however often it takes: drivers publish again."""
        while True:
            if await self._has_worked(self._wipe("")):
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def run(self) -> None:
        """Wipe each driver's slices when it has been away long enough, until cancelled."""
        while True:
            await self._has_worked(self.look(asyncio.get_running_loop().time()))
            await asyncio.sleep(LOOK_SECONDS)

    async def _has_worked(self, step: Coroutine[Any, Any, None]) -> bool:
        try:
            await step
        except (RefusedError, ServerAwayError) as failed:
            log.warning("slices not wiped, trying again", node=self._node, reason=str(failed))
            return False
        return True

    async def look(self, now: float) -> None:
        """Note who is there, and wipe after whom has been gone for the delay."""
        for name in self._registry.names:
            if self._registry.driver(name):
                self._lost_at.pop(name, None)
                self._wiped.discard(name)
            elif name not in self._wiped and self._is_overdue(name, now):
                await self._wipe(name)
                self._wiped.add(name)

    def _is_overdue(self, name: str, now: float) -> bool:
        return now - self._lost_at.setdefault(name, now) >= self._delay

    async def _wipe(self, driver: str) -> None:
        selector = f"spec.nodeName={self._node}" + (f",spec.driver={driver}" if driver else "")
        await self._client.delete(f"{DRA}/resourceslices?fieldSelector={selector}")
        log.info("slices wiped", node=self._node, driver=driver or "all")
