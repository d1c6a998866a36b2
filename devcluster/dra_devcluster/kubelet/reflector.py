"""A collection kept in view: every object as it is now, over lists and watches that end.

Yields what a reader must know to be up to date, whatever happened to the connection meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final

import structlog

from dra_devcluster.kubelet.client import Client, Object, RefusedError, ServerAwayError

PAUSE_SECONDS: Final = 1.0
log = structlog.get_logger()

Seen = tuple[str, Object | None]
"""Uid, and the object as it now is; None: gone."""


async def reflect(client: Client, path: str, query: Mapping[str, str]) -> AsyncIterator[Seen]:
    """Each change once, for ever: differences to the last list, then what the watch tells."""
    known: dict[str, Object] = {}
    while True:
        try:
            async for uid, obj in _until_refused(client, path, query, known):
                _note(known, uid, obj)
                yield uid, obj
        except RefusedError as refused:
            log.info("watch ended, listing again", path=path, reason=str(refused))
        except ServerAwayError as away:
            log.warning("API server is away, asking again", path=path, reason=str(away))
            await asyncio.sleep(PAUSE_SECONDS)


def _note(known: dict[str, Object], uid: str, obj: Object | None) -> None:
    known.pop(uid, None)
    if obj is not None:
        known[uid] = obj


async def _until_refused(
    client: Client, path: str, query: Mapping[str, str], known: Mapping[str, Object]
) -> AsyncIterator[Seen]:
    listed = await client.get(path + _encoded(query))
    version = listed["metadata"]["resourceVersion"]
    present = {item["metadata"]["uid"]: item for item in listed["items"]}
    for uid in set(known) - set(present):
        yield uid, None
    for uid, item in present.items():
        if uid not in known or known[uid]["metadata"] != item["metadata"]:
            yield uid, item
    while True:
        async for kind, obj in client.events(path, query, version):
            version = obj["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                yield obj["metadata"]["uid"], None if kind == "DELETED" else obj


def _encoded(query: Mapping[str, str]) -> str:
    return "?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else ""
