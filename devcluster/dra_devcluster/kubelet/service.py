"""Several pretended nodes with one connection and one place for their logs."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from dra_devcluster.kubelet.client import Client
from dra_devcluster.kubelet.connection import Connection
from dra_devcluster.kubelet.logs import LogBook, log_application
from dra_devcluster.kubelet.node import Node
from dra_devcluster.kubelet.place import Place
from dra_devcluster.listener import Listener

WIPE_AFTER_SECONDS: Final = 30.0
"""How long a driver may be away before its slices go, as in the kubelet."""


class KubeletSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What one stand-in is made of; nodes' folders lie below ``root``, named like them."""

    root: Path
    places: Sequence[Place]
    host: str = "127.0.0.1"
    port: int = 0
    wipe_after: float | None = WIPE_AFTER_SECONDS
    """Seconds; None to leave slices alone."""


async def run_kubelets(connection: Connection, settings: KubeletSettings) -> None:
    """Pretend all nodes until cancelled."""
    logs = LogBook()
    async with (
        Client(connection) as client,
        Listener(log_application(logs), settings.host, settings.port) as listener,
        asyncio.TaskGroup() as tasks,
    ):
        for place in settings.places:
            located = msgspec.structs.replace(
                place, root=settings.root, host=settings.host, port=listener.port
            )
            tasks.create_task(Node(client, located, logs, settings.wipe_after).run())
