"""The connection to NATS, with everything that goes wrong on it made visible."""

from importlib.metadata import version
from typing import Final

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from prometheus_client import Counter, Gauge

from dra_shared.log import jetstream_parser
from dra_shared.log.protocol import LogUnavailableError
from dra_shared.runtime.cancellation import hear_cancellations

ERRORS: Final = Counter(
    "dra_nats_errors_total",
    "What NATS told the client out of turn: slow consumer, permissions, protocol",
    ["kind"],
)
CONNECTED: Final = Gauge("dra_nats_connected", "1 while there is a connection to NATS")

RECONNECT_WAIT: Final = 0.2
"""Seconds between tries to connect."""

LEAST_PAYLOAD: Final = 1_048_576
"""Bytes of one message that a server must take from those who write facts: what NATS takes unless told otherwise."""

Connection = Client
"""What `connect` gives, for those who only pass it on and need not know NATS."""

_log = structlog.get_logger()


async def connect(url: str, name: str, *, patience: float = -1, writes: bool = True) -> Connection:
    """A client of these servers (comma-separated) that reconnects for ever. `patience`: seconds to wait for the first connection.

    Negative: for ever. Raises LogUnavailableError when patience ends, the server says no, or it
    takes too little in one message from a client that `writes`.
    """
    hear_cancellations()
    client = Client()
    ear = _Ear(client)
    attempts = -1 if patience < 0 else max(1, int(patience / RECONNECT_WAIT))
    try:
        await client.connect(
            url.split(","),
            name=name,
            allow_reconnect=True,
            max_reconnect_attempts=attempts,
            reconnect_time_wait=RECONNECT_WAIT,  # type: ignore[arg-type] # it only sleeps that long
            connect_timeout=2,
            ping_interval=10,
            max_outstanding_pings=2,
            error_cb=ear.error,
            disconnected_cb=ear.lost,
            reconnected_cb=ear.back,
        )
    except (NatsError, OSError) as error:
        shown = ", ".join(server.rpartition("@")[2] for server in url.split(","))
        message = f"no NATS server at {shown}: {error}; is it running, is NATS_URL right?"
        raise LogUnavailableError(message) from error
    if writes and client.max_payload < LEAST_PAYLOAD:
        await client.close()
        raise LogUnavailableError(_too_small(client.max_payload))
    client.options["max_reconnect_attempts"] = -1
    CONNECTED.set(1)
    if not jetstream_parser.install(client):
        _log.warning(
            "nats-py has changed, reading the log the slow way", version=version("nats-py")
        )
    return client


def _too_small(max_payload: int) -> str:
    return (
        f"NATS takes messages of {max_payload} bytes at most (max_payload) and a fact can be larger: "
        f"set max_payload to {LEAST_PAYLOAD} or more on all its servers, or leave it out there"
    )


class _Ear:
    """Hears what happens to a connection. Counts everything; while there is none, tells the same once.

    Five tries a second would bury the line that matters.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._told: set[str] = set()

    async def error(self, error: Exception) -> None:
        kind, text = type(error).__name__, str(error)
        ERRORS.labels(kind=kind).inc()
        if self._client.is_connected:
            _log.error("NATS reports an error", error=text, kind=kind)
        elif text not in self._told:
            self._told.add(text)
            _log.error("no connection to NATS, trying again", error=text, kind=kind)

    async def lost(self) -> None:
        CONNECTED.set(0)
        self._told.clear()
        if not self._client.is_closed:
            _log.warning("connection to NATS lost, reconnecting")

    async def back(self) -> None:
        CONNECTED.set(1)
        _log.info("connected to NATS again")
