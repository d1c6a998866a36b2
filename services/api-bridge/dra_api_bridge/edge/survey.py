"""Finds out what the API server is and accepts: once at the start, again when it may have changed.

It may have after every outage, and when another release answers: one of several servers behind
one address goes without a sign.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Final

import msgspec
import structlog

from dra_api_bridge.core.features import features
from dra_api_bridge.edge.api import Api, ApiRefusedError, ApiUnreachableError
from dra_api_bridge.edge.discovery import (
    NotServedError,
    Served,
    discover,
    probe_features,
    server_version,
)
from dra_shared.events.cluster import FeaturesObserved
from dra_shared.runtime.endpoint import Readiness

FAILURES: Final = (NotServedError, ApiRefusedError, ApiUnreachableError)

_log = structlog.get_logger()


class Pauses(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: before trying again, between looks at the version, and after a survey.

    A survey is 15 requests, so it rests after one however often watches break.
    """

    retry: float = 2.0
    version: float = 60.0
    rest: float = 10.0


PAUSES: Final = Pauses()


class Survey(msgspec.Struct, frozen=True):
    """What a server serves, and the features that were tried; `overrides` are the operator's."""

    served: Served
    probed: dict[str, bool]
    overrides: tuple[str, ...] = ()

    @property
    def features(self) -> FeaturesObserved:
        """What the log is told of it."""
        served = self.served
        on = features(served.major, served.minor, self.probed, self.overrides)
        return FeaturesObserved(server_version=served.version, features=on)

    def serves_the_same(self, other: "Survey") -> bool:
        """Whether all that is watched and written is found in the same places."""
        one, two = self.served, other.served
        return (one.resource_api, one.paths) == (two.resource_api, two.paths)


async def first_survey(api: Api, overrides: Sequence[str], readiness: Readiness) -> Survey:
    """What the API server is, as soon as that is enough to work with."""
    while True:
        try:
            return await _survey(api, {}, tuple(overrides))
        except FAILURES as error:
            lacking = str(error)
        readiness.missing(lacking)
        _log.error("cannot work with the API server", error=lacking)
        await asyncio.sleep(PAUSES.retry)
        readiness.there(lacking)


async def later_surveys(
    api: Api, known: Survey, lost: asyncio.Event, pauses: Pauses = PAUSES
) -> AsyncGenerator[Survey]:
    """A survey each time that the server was `lost` and is back, or is of another version."""
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(lost.wait(), pauses.version)
        try:
            if not lost.is_set() and await server_version(api) == known.served.version:
                continue
            lost.clear()
            known = await _survey(api, known.probed, known.overrides)
        except FAILURES as error:
            _log.warning("cannot ask the API server what it is", error=str(error))
            lost.set()
            await asyncio.sleep(pauses.retry)
        else:
            yield known
            await asyncio.sleep(pauses.rest)


async def _survey(api: Api, before: dict[str, bool], overrides: tuple[str, ...]) -> Survey:
    """What it is now; for a feature that could not be tried the last answer stands."""
    served = await discover(api)
    return Survey(served, before | await probe_features(api, served.resource_api), overrides)
