"""What an API server is, is found out again when it was away or is another one."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest
from unit.api_bridge.servers import RULES, THREE, SomeServer, a_kubeconfig
from waiting import until

from dra_api_bridge.edge.api import Api, connected
from dra_api_bridge.edge.survey import Pauses, Survey, first_survey, later_surveys
from dra_shared.runtime.endpoint import Readiness

QUICK = Pauses(retry=0.01, version=0.01, rest=0)
PATIENT = Pauses(retry=0.01, version=1000, rest=0)


class Place(msgspec.Struct):
    """A server, a connection to it, and what was found out first."""

    server: SomeServer
    api: Api
    first: Survey
    lost: asyncio.Event

    async def asked(self, times: int) -> None:
        """Returns once so many more requests came."""
        wanted = len(self.server.asked) + times

        async def enough() -> bool:
            return len(self.server.asked) >= wanted

        await until(enough, f"{times} requests")

    def surveys(self, pauses: Pauses) -> AsyncGenerator[Survey]:
        return later_surveys(self.api, self.first, self.lost, pauses)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    server = SomeServer({"v1": (*THREE, RULES)})
    async with server.serving() as url, connected(a_kubeconfig(tmp_path, url)) as api:
        first = await first_survey(api, ("-AdminAccess",), Readiness())
        yield Place(server, api, first, asyncio.Event())


async def test_after_an_outage_all_is_tried_again(place: Place) -> None:
    place.server.refuses = 0
    place.lost.set()
    async with aclosing(place.surveys(PATIENT)) as surveys:
        now = await anext(surveys)
    assert "ListTypeAttributes" not in place.first.features.features
    assert "ListTypeAttributes" in now.features.features
    assert "AdminAccess" not in now.features.features
    assert now.serves_the_same(place.first)


async def test_a_server_that_comes_back_as_it_was_has_the_same_features(place: Place) -> None:
    place.lost.set()
    async with aclosing(place.surveys(PATIENT)) as surveys:
        assert (await anext(surveys)).features == place.first.features


async def test_another_release_is_noticed_without_an_outage(place: Place) -> None:
    place.server.release = "v1.36.0"
    async with aclosing(place.surveys(QUICK)) as surveys:
        now = await anext(surveys)
    assert now.features.server_version == "v1.36.0"
    assert "DeviceTaints" in now.features.features


async def test_nothing_is_tried_while_the_same_release_answers(place: Place) -> None:
    place.server.asked.clear()
    async with aclosing(place.surveys(QUICK)) as surveys:
        waiting = asyncio.ensure_future(anext(surveys))
        await place.asked(5)
        waiting.cancel()
        await asyncio.wait([waiting])
    assert {line.rpartition("/")[2] for line in place.server.asked} == {"version"}


@pytest.mark.parametrize("trouble", [429, 500, 503])
async def test_a_server_that_is_only_starting_gives_no_verdict(place: Place, trouble: int) -> None:
    place.server.refuses = trouble
    place.lost.set()
    async with aclosing(place.surveys(PATIENT)) as surveys:
        waiting = asyncio.ensure_future(anext(surveys))
        await place.asked(20)
        assert not waiting.done()
        place.server.refuses = 0
        assert "ListTypeAttributes" in (await waiting).features.features


async def test_what_may_not_be_tried_any_more_stays_as_it_was(place: Place) -> None:
    place.server.refuses = 0
    place.lost.set()
    async with aclosing(place.surveys(PATIENT)) as surveys:
        tried = await anext(surveys)
        place.server.refuses = 403
        place.lost.set()
        assert (await anext(surveys)).features == tried.features


async def test_a_server_that_serves_things_elsewhere_is_another_one(place: Place) -> None:
    place.server.versions = {"v1beta2": THREE}
    place.lost.set()
    async with aclosing(place.surveys(PATIENT)) as surveys:
        assert not (await anext(surveys)).serves_the_same(place.first)
