"""Asking a server until it answers: how long, and who hears of it. What is asked is known elsewhere."""

import asyncio
from typing import Final

import structlog
from nats.aio.client import Client

from dra_shared.log.protocol import LogUnavailableError

RETRY_PAUSE: Final = 0.1

_log = structlog.get_logger()


class Trying:
    """One question that is asked again after trouble, each new trouble being told once.

    `patience`: seconds until the question is given up.
    """

    def __init__(self, client: Client, patience: float) -> None:
        self._client = client
        self._now = asyncio.get_running_loop().time
        self._patience = patience
        self._deadline = self._now() + patience
        self._told = ""

    async def pause(self, error: Exception) -> None:
        """Waits a moment; raises LogUnavailableError when there is no sense in asking again."""
        text = str(error) or type(error).__name__
        if self._client.is_closed:
            message = f"the connection to NATS was closed for good: {text}"
            raise LogUnavailableError(message) from error
        if self._now() > self._deadline:
            message = (
                f"NATS did not answer for {self._patience:g} s when asked for the log: {text}; "
                "is JetStream enabled there, and open to us?"
            )
            raise LogUnavailableError(message) from error
        if text != self._told:
            _log.warning("NATS does not answer when asked for the log, trying again", error=text)
        self._told = text
        await asyncio.sleep(RETRY_PAUSE)
