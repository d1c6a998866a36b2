"""What goes wrong between us and NATS is told, once, and ends when there is no sense in waiting."""

from asyncio import gather
from asyncio.subprocess import PIPE
from contextlib import ExitStack
from pathlib import Path

import pytest
from processes import a_part
from servers import NatsServer
from structlog.testing import capture_logs

from dra_cli.edge.logs import Source, opened
from dra_cli.local.ports import hold_ports
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import LogUnavailableError
from dra_shared.runtime.bus import LEAST_PAYLOAD, connect
from dra_shared.runtime.process import Exit

SMALL = f"max_payload: {LEAST_PAYLOAD - 1}\n"
MEND = f"set max_payload to {LEAST_PAYLOAD} or more"
SERVICES = (
    "dra_inventory",
    "dra_allocator",
    "dra_allocator.snapshotter",
    "dra_api_bridge",
)


async def test_a_server_that_is_away_is_told_once_however_often_it_is_tried() -> None:
    with ExitStack() as held, capture_logs() as told:
        (port,) = hold_ports(1, held)
        with pytest.raises(LogUnavailableError, match="is NATS_URL right"):
            await connect(f"nats://127.0.0.1:{port}", "test", patience=1)
    assert [line["event"] for line in told] == ["no connection to NATS, trying again"]


async def test_a_server_that_keeps_no_logs_for_us_is_told_and_given_up(tmp_path: Path) -> None:
    accounts = "accounts { A { users: [{user: a, password: a}] } }\nno_auth_user: a\n"
    with NatsServer(tmp_path, more=accounts) as server, capture_logs() as told:
        log = JetStreamLog(await connect(server.url, "test"), patience=0.5)
        with pytest.raises(LogUnavailableError, match="is JetStream enabled there"):
            await log.last_sequence()
        await log.close()
    assert len(told) == 1
    assert "trying again" in told[0]["event"]


async def test_who_writes_needs_a_server_that_takes_the_largest_fact_and_who_reads_does_not(
    tmp_path: Path,
) -> None:
    with NatsServer(tmp_path / "small", more=SMALL) as small:
        with pytest.raises(LogUnavailableError, match=f"{LEAST_PAYLOAD - 1} bytes.*{MEND}"):
            await connect(small.url, "test")
        async with opened(Source(small.url)) as log:
            with pytest.raises(LogUnavailableError, match="there is no log"):
                await log.last_sequence()
    with NatsServer(tmp_path / "least", more=f"max_payload: {LEAST_PAYLOAD}\n") as least:
        await (await connect(least.url, "test")).close()


async def test_every_service_says_at_its_start_that_the_server_takes_too_little(
    tmp_path: Path,
) -> None:
    with NatsServer(tmp_path, more=SMALL) as server:
        ends = await gather(*(last_words(module, server) for module in SERVICES))
    assert [code for code, _ in ends] == [Exit.FAILED] * len(SERVICES)
    assert all(MEND in words for _, words in ends)


async def last_words(module: str, server: NatsServer) -> tuple[int | None, str]:
    """What a service ends with, and what it wrote to its log."""
    async with a_part(module, server, "a", errors=PIPE) as process:
        _, words = await process.communicate()
    return process.returncode, words.decode()
