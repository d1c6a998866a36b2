"""Case D14: a watch may end in every legal way, and nothing is lost, repeated or left over.

Sources: python-base#57, kubernetes_asyncio#327, python#819, kubeclient#599, python#376.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cases.scripted_api import (
    GONE_IN_STREAM,
    Act,
    ScriptedApi,
    event,
    failure,
    listing,
    watching,
)
from waiting import until

from dra_api_bridge.core.objects import Address, Kind, KubeObject
from dra_api_bridge.core.observed import Change, Observed
from dra_api_bridge.edge.api import connected
from dra_api_bridge.edge.watch import Watch

OPEN = watching(end="silence")
ERRORS = [
    pytest.param(watching(GONE_IN_STREAM), id="in stream"),
    pytest.param(failure(410), id="HTTP"),
]


class Listener:
    """Takes changes in as the bridge does and keeps those that were real."""

    def __init__(self) -> None:
        self.observed = Observed()
        self.heard: list[tuple[str, bool]] = []
        self.versions: list[int] = []
        self.losses = 0

    def listed(self, kind: Kind, objects: Sequence[KubeObject], version: int) -> None:
        for change in self.observed.replaced(kind, objects):
            self._take(change)
        self.versions.append(version)

    def changed(self, change: Change, version: int) -> None:
        self._take(change)
        self.versions.append(version)

    def advanced(self, kind: Kind, version: int) -> None:
        assert kind in Kind
        self.versions.append(version)

    def lost(self, kind: Kind) -> None:
        assert kind in Kind
        self.losses += 1

    def _take(self, change: Change) -> None:
        if self.observed.apply(change):
            self.heard.append((change.address.name, change.now is not None))


EMPTY = {"kind": "SomeList", "metadata": {"resourceVersion": "7"}, "items": None}
LOGIN = Act(page="<html>please log in</html>")
ELSEWHERE = Act(status=302, page="https://login.example.com/")


def a_claim(name: str, version: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": f"{name}-uid", "resourceVersion": version}
    return {"metadata": metadata, "spec": spec}


def a_bookmark(version: str) -> bytes:
    return event("BOOKMARK", {"metadata": {"resourceVersion": version}})


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@asynccontextmanager
async def following(
    server: ScriptedApi, folder: Path, kind: Kind = Kind.CLAIMS, silence: float = 30
) -> AsyncIterator[Listener]:
    listener = Listener()
    async with server.serving(folder) as config, connected(str(config)) as api:
        watch = Watch(api, kind, f"/apis/{kind}", listener)
        watch.silence = silence
        running = asyncio.create_task(watch.follow())
        try:
            yield listener
            assert not running.done(), "no exception may reach the top"
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def asked(server: ScriptedApi, what: str, times: int) -> None:
    async def enough() -> bool:
        return len(server.asked_for(what)) >= times

    await until(enough, f"{what} number {times} is asked for")


@pytest.mark.parametrize("gone", ERRORS)
async def test_forgotten_history_costs_one_list_whose_difference_alone_is_told(
    gone: Act, tmp_path: Path
) -> None:
    lists = [
        listing("10", a_claim("stays", "1"), a_claim("goes", "2"), a_claim("changes", "3")),
        listing("20", a_claim("stays", "1"), a_claim("changes", "15"), a_claim("comes", "16")),
    ]
    server = ScriptedApi(lists, [gone, OPEN])
    async with following(server, tmp_path) as listener:
        await asked(server, "watch", 2)
        assert len(server.asked_for("list")) == 2
        assert server.asked_for("watch") == ["10", "20"]
        assert sorted(listener.heard[3:]) == [("changes", True), ("comes", True), ("goes", False)]


async def test_a_clean_end_resumes_at_the_last_event_without_a_list(tmp_path: Path) -> None:
    first = watching(event("ADDED", a_claim("a", "11")), event("DELETED", a_claim("a", "12")))
    server = ScriptedApi([listing("10")], [first, watching(), OPEN])
    async with following(server, tmp_path) as listener:
        await asked(server, "watch", 3)
        assert server.asked_for("watch") == ["10", "12", "12"]
        assert server.asked_for("list") == [""]
        assert listener.heard == [("a", True), ("a", False)]


async def test_the_lists_version_counts_and_not_those_of_its_items(tmp_path: Path) -> None:
    items = [a_claim(f"c{version}", version) for version in ("900", "5", "870")]
    server = ScriptedApi([listing("1000", *items)], [OPEN])
    async with following(server, tmp_path) as listener:
        await asked(server, "watch", 1)
        assert server.asked_for("watch") == ["1000"]
        assert len(listener.heard) == 3


async def test_events_that_repeat_the_list_are_not_told_again(tmp_path: Path) -> None:
    again = watching(event("ADDED", a_claim("a", "9")), a_bookmark("12"), end="silence")
    server = ScriptedApi([listing("10", a_claim("a", "9"))], [again])
    async with following(server, tmp_path) as listener:

        async def caught_up() -> bool:
            return listener.versions[-1:] == [12]

        await until(caught_up, "the bookmark is heard")
        assert listener.heard == [("a", True)]


async def test_a_bookmark_moves_the_point_to_resume_at(tmp_path: Path) -> None:
    server = ScriptedApi([listing("10")], [watching(a_bookmark("77")), OPEN])
    async with following(server, tmp_path):
        await asked(server, "watch", 2)
        assert server.asked_for("watch") == ["10", "77"]


async def test_null_lists_read_as_empty_ones(tmp_path: Path) -> None:
    meta = {"name": "s", "uid": "u", "resourceVersion": "3"}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d", "pool": pool, "nodeName": "n", "devices": None}
    server = ScriptedApi([listing("10", {"metadata": meta, "spec": spec})], [OPEN])
    async with following(server, tmp_path, Kind.SLICES) as listener:
        await asked(server, "watch", 1)
        (found,) = listener.observed.slices("d", "p")
        assert not found.spec.devices


async def test_a_list_without_items_is_empty(tmp_path: Path) -> None:
    server = ScriptedApi([Act(body=EMPTY)], [OPEN])
    async with following(server, tmp_path) as listener:
        await asked(server, "watch", 1)
        assert listener.versions == [7]


async def test_an_object_that_makes_no_sense_is_passed_over_and_the_others_are_told(
    tmp_path: Path,
) -> None:
    bad = a_claim("bad", "2", devices="none of your business")
    server = ScriptedApi([listing("10", bad, a_claim("good", "3"))], [OPEN])
    async with following(server, tmp_path) as listener:
        await asked(server, "watch", 1)
        assert listener.heard == [("good", True)]


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(failure(500), id="HTTP 500"),
        pytest.param(failure(403), id="HTTP 403"),
        pytest.param(watching(end="break"), id="connection reset"),
        pytest.param(watching(b'{"type":"ADDED","obj', end="break"), id="reset inside a line"),
        pytest.param(watching(b"<html>\n"), id="no JSON"),
        pytest.param(watching(event("ERROR", {"code": 504})), id="other error in the stream"),
        pytest.param(watching(end="silence"), id="silence"),
        pytest.param(LOGIN, id="a proxy's login page"),
        pytest.param(ELSEWHERE, id="a redirection"),
    ],
)
async def test_other_failures_resume_where_they_were_without_a_list(
    end: Act, tmp_path: Path
) -> None:
    server = ScriptedApi([listing("10", a_claim("a", "9"))], [end, end, OPEN])
    async with following(server, tmp_path, silence=0.2) as listener:
        await asked(server, "watch", 3)
        assert server.asked_for("list") == [""]
        assert set(server.asked_for("watch")) == {"10"}
        assert listener.heard == [("a", True)]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(LOGIN, id="a login page"),
        pytest.param(ELSEWHERE, id="a redirection"),
        pytest.param(Act(body={}), id="another document"),
        pytest.param(Act(body={"kind": "Status", "metadata": {}}), id="another kind"),
        pytest.param(Act(body={**EMPTY, "metadata": {}}), id="a list of no version"),
        pytest.param(Act(body={**EMPTY, "items": "none"}), id="a list of another shape"),
    ],
)
async def test_what_is_no_list_is_an_outage_and_empties_nothing(odd: Act, tmp_path: Path) -> None:
    claim = a_claim("a", "9")
    server = ScriptedApi([listing("10", claim), odd, listing("20", claim)], [failure(410), OPEN])
    async with following(server, tmp_path) as listener:
        await asked(server, "watch", 2)
        assert len(server.asked_for("list")) == 3
        assert listener.heard == [("a", True)]
        assert listener.losses == 1


async def test_a_change_and_a_deletion_while_the_watch_was_down_are_found(tmp_path: Path) -> None:
    lists = [listing("10", a_claim("c1", "1")), listing("30", a_claim("c2", "25"))]
    server = ScriptedApi(lists, [watching(end="break"), failure(410), OPEN])
    async with following(server, tmp_path) as listener:
        await asked(server, "watch", 3)
        assert sorted(listener.heard[1:]) == [("c1", False), ("c2", True)]
        assert listener.observed.claim_at(Address("ns", "c1")) is None


async def test_two_hundred_ends_leave_no_descriptor_and_no_task_behind(tmp_path: Path) -> None:
    ends = [watching(event("MODIFIED", a_claim("a", str(100 + count)))) for count in range(220)]
    server = ScriptedApi([listing("10", a_claim("a", "9"))], [*ends, OPEN])
    async with following(server, tmp_path) as listener:
        await asked(server, "watch", 20)
        before = descriptors(), len(asyncio.all_tasks())
        await asked(server, "watch", 220)
        after = descriptors(), len(asyncio.all_tasks())
        assert after[0] <= before[0] + 3
        assert after[1] <= before[1] + 3
        assert len(server.asked_for("list")) == 1
        assert len(listener.heard) >= 219
