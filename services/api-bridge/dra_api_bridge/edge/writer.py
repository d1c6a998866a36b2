"""Sends planned writes and says what became of them. Never plans, never decides what comes next."""

import asyncio
import time
from collections import defaultdict
from enum import Enum
from typing import Final

import msgspec
import structlog
from prometheus_client import Counter, Histogram

from dra_api_bridge.core.requests import AnyWrite, Request, Tell, requests
from dra_api_bridge.edge.api import FIRST_ERROR, Answer, Api, ApiUnreachableError, message_of, read
from dra_shared.kube.meta import ObjectMeta

SERVER_ERROR: Final = 500
IN_FLIGHT: Final = 16
"""Writes of one kind under way: pods that can go need not wait for all claims of the others."""

TRIES: Final = 6
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
STALE_PAUSE: Final = 0.1
"""Seconds for the watch to bring what the write did not know of."""

TEST_FAILED: Final = "the server rejected our request due to an error in our request"
"""All that the API server says when a JSON patch does not apply, a `test` in it included."""

WRITES: Final = Counter("dra_bridge_writes_total", "Requests that write", ["what", "status"])
SECONDS: Final = Histogram("dra_bridge_write_seconds", "How long a write took", ["what"])

_log = structlog.get_logger()


class Done(msgspec.Struct, frozen=True):
    """The server took it; `version` is the object's, 0 where it gave none."""

    version: int
    body: bytes


class Stale(msgspec.Struct, frozen=True):
    """The object is not as we thought, or no answer came: look again and plan anew."""


class Refused(msgspec.Struct, frozen=True):
    """The server said no, and would say it again."""

    status: int
    message: str


Outcome = Done | Stale | Refused


class _Taken(msgspec.Struct):
    kind: str
    metadata: ObjectMeta = ObjectMeta()


class Verdict(Enum):
    """What an HTTP status means for a write."""

    TAKEN = "taken"
    STALE = "stale"
    REFUSED = "refused"
    AGAIN = "again"


class Writer:
    """Many writes at once, up to a bound for each kind."""

    def __init__(self, api: Api, resource_api: str) -> None:
        self._api = api
        self._resource_api = resource_api
        self._slots = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(IN_FLIGHT))

    async def write(self, write: AnyWrite) -> Outcome:
        """Does it; what may pass by itself is tried again a few times, ever more slowly."""
        what = type(write).__name__
        if isinstance(write, Tell) and not write.time_ns:
            write = msgspec.structs.replace(write, time_ns=time.time_ns())
        done = Done(0, b"")
        for request in requests(write, self._resource_api):
            async with self._slots[what]:
                with SECONDS.labels(what).time():
                    found = await self._send(what, request)
            if not isinstance(found, Done):
                if isinstance(found, Stale):
                    await asyncio.sleep(STALE_PAUSE)
                return found
            done = found
        return done

    async def _send(self, what: str, request: Request) -> Outcome:
        pause, version = FIRST_PAUSE, 0
        for _ in range(TRIES):
            try:
                answer = await self._api.send(request)
                version = 0 if answer.is_error else _version(request, answer)
            except ApiUnreachableError as error:
                WRITES.labels(what, "none").inc()
                _log.warning("write got no answer", what=what, error=str(error))
                answer = Answer(503, b"")
            else:
                WRITES.labels(what, str(answer.status)).inc()
            match verdict(answer, creates=request.method == "POST"):
                case Verdict.TAKEN:
                    return Done(version, answer.body)
                case Verdict.STALE:
                    return Stale()
                case Verdict.REFUSED:
                    return Refused(answer.status, message_of(answer.body))
                case Verdict.AGAIN:
                    await asyncio.sleep(min(answer.retry_after or pause, LONGEST_PAUSE))
                    pause = min(pause * 2, LONGEST_PAUSE)
        _log.error("write given up for now", what=what, path=request.path)
        return Stale()


def verdict(answer: Answer, *, creates: bool = False) -> Verdict:
    """What the answer means: 404 and 409 say that our view is old, and so does a failed `test`.

    What would be created where its namespace is gone stays refused.
    """
    match answer.status:
        case 404 if creates:
            return Verdict.REFUSED
        case 404 | 409:
            return Verdict.STALE
        case 429 | 408:
            return Verdict.AGAIN
        case 422 if message_of(answer.body) == TEST_FAILED:
            return Verdict.STALE
        case status if status >= SERVER_ERROR:
            return Verdict.AGAIN
        case status if status >= FIRST_ERROR:
            return Verdict.REFUSED
        case _:
            return Verdict.TAKEN


def _version(request: Request, answer: Answer) -> int:
    taken = read(f"{request.method} {request.path}", answer.body, _Taken)
    return int(taken.metadata.resource_version or 0)
