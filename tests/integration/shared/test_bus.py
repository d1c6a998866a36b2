"""What goes wrong on the connection to NATS is counted each time and told once."""

import pytest
from structlog.testing import capture_logs

from dra_cli.local.ports import free_ports
from dra_shared.log.protocol import LogUnavailableError
from dra_shared.runtime.bus import connect


async def test_a_server_that_is_away_is_told_once_however_often_it_is_tried() -> None:
    (port,) = free_ports(1)
    url = f"nats://127.0.0.1:{port}"
    with capture_logs() as told, pytest.raises(LogUnavailableError, match="is NATS_URL right"):
        await connect(url, "test", patience=1)
    assert [line["event"] for line in told] == ["no connection to NATS, trying again"]
