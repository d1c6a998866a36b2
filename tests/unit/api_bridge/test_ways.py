"""The way to the API server: what a kubeconfig says of it counts, and what stands in it is told."""

import asyncio
from pathlib import Path

import pytest
from unit.api_bridge.servers import RULES, THREE, SomeServer, a_kubeconfig
from waiting import until

from dra_api_bridge.core.objects import Topic, Work
from dra_api_bridge.core.requests import Tell
from dra_api_bridge.edge.api import ApiUnreachableError, NoClusterError, connected
from dra_api_bridge.edge.discovery import discover
from dra_api_bridge.edge.survey import first_survey
from dra_api_bridge.edge.writer import Done, Writer
from dra_shared.ids import ObjectRef
from dra_shared.runtime.endpoint import Readiness

VERSIONS = {"v1": (*THREE, RULES)}


async def test_a_login_page_is_an_outage_that_says_what_was_asked_and_what_came(
    tmp_path: Path,
) -> None:
    server = SomeServer(VERSIONS)
    server.hidden = 1000
    async with server.serving() as url, connected(a_kubeconfig(tmp_path, url)) as api:
        with pytest.raises(
            ApiUnreachableError, match=r"GET /version: 200, .* text/html .*please log in"
        ):
            await discover(api)


async def test_the_bridge_waits_until_the_login_page_is_gone_and_says_so(tmp_path: Path) -> None:
    server, ready = SomeServer(VERSIONS), Readiness()
    server.hidden = 1000
    async with server.serving() as url, connected(a_kubeconfig(tmp_path, url)) as api:
        waiting = asyncio.create_task(first_survey(api, (), ready))

        async def is_told() -> bool:
            return any("please log in" in lack for lack in ready.lacks)

        await until(is_told, "readiness says what came")
        server.hidden = 0
        assert (await waiting).served.version == "v1.34.1"
        assert ready.lacks == ()


async def test_a_write_that_a_login_page_answered_was_not_taken(tmp_path: Path) -> None:
    server, pod = SomeServer(VERSIONS), ObjectRef("ns", "p", "p-uid")
    server.hidden, server.refuses = 2, 0
    tell = Tell(work=Work(Topic.EVENT, "p-uid"), sequence=1, pod=pod, message="m", time_ns=1)
    async with server.serving() as url, connected(a_kubeconfig(tmp_path, url)) as api:
        outcome = await Writer(api, "/apis/resource.k8s.io/v1").write(tell)
    assert isinstance(outcome, Done)
    assert len(server.asked) == 3


async def test_a_kubeconfigs_proxy_is_used(tmp_path: Path) -> None:
    proxy = SomeServer(VERSIONS)
    async with (
        proxy.serving() as url,
        connected(a_kubeconfig(tmp_path, "http://kubernetes.invalid", proxy_url=url)) as api,
    ):
        await discover(api)
    assert proxy.asked[0] == "GET http://kubernetes.invalid/version"


async def test_a_proxy_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    config = a_kubeconfig(tmp_path, "https://kubernetes.invalid", proxy_url="socks5://[::1]:1080")
    with pytest.raises(NoClusterError, match=r"proxy-url socks5://.* HTTP"):
        async with connected(config):
            pass
