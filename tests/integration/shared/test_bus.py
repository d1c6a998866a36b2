"""What goes wrong between us and NATS is told, once, and ends when there is no sense in waiting."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from servers import NatsServer
from structlog.testing import capture_logs

from dra_cli.local.ports import hold_ports
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.log.protocol import LogUnavailableError
from dra_shared.runtime.bus import connect


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
