"""What a stream answers to an append, and what each answer means. No connection here."""

from collections.abc import Sequence
from typing import Final

import msgspec

from dra_shared.events import subjects
from dra_shared.log.protocol import Epoch, FencedError, LogUnavailableError

WRONG_LAST_SEQUENCE: Final = 10071
"""Another epoch was opened."""

BUSY: Final = 10164
"""A replicated stream still works on the previous write under the same fence."""

DUPLICATE_IN_BATCH: Final = 10201
"""An event of the batch is in the log already; nothing of the batch was stored."""

PASSING: Final = frozenset({503, 408})
"""The stream has no leader just now, or the server is starting."""

BUSY_PAUSE: Final = 0.002
RETRY_PAUSE: Final = 0.05


class Refusal(msgspec.Struct):
    """Why an append was not taken."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class Ack(msgspec.Struct):
    """Where an event stands, or why it does not. Both absent: a batch was opened."""

    seq: int = 0
    error: Refusal | None = None


NO_RESPONDERS: Final = Ack(error=Refusal(code=503, description="no responders"))

_ACK: Final = msgspec.json.Decoder(Ack)


def decode_ack(data: bytes) -> Ack:
    """The answer in these bytes."""
    return _ACK.decode(data)


def fence(epoch: Epoch) -> dict[str, str]:
    """The headers that make the server refuse an append once the epoch is over."""
    return {
        "Nats-Expected-Last-Subject-Sequence": str(epoch.sequence),
        "Nats-Expected-Last-Subject-Sequence-Subject": subjects.epoch(epoch.writer),
    }


def sequence_of(ack: Ack | None, epoch: Epoch | None) -> int:
    """Where the event stands, or 0 if it must be sent again.

    Raises FencedError, or LogUnavailableError for a refusal that trying again cannot mend.
    """
    if ack is None:
        return 0
    if ack.error is None:
        return ack.seq
    if ack.error.err_code == WRONG_LAST_SEQUENCE and epoch is not None:
        raise FencedError(epoch)
    if ack.error.err_code == BUSY or ack.error.code in PASSING:
        return 0
    message = (
        f"NATS refuses to store events: {ack.error.description} (error {ack.error.err_code}); "
        "look at the limits of the stream and at the server's disk"
    )
    raise LogUnavailableError(message)


def pause_after(acks: Sequence[Ack | None]) -> float:
    """Seconds before the next try: none after success, little when the stream is only busy."""
    refusals = [ack.error for ack in acks if ack is not None and ack.error is not None]
    if any(refusal.code in PASSING for refusal in refusals):
        return RETRY_PAUSE
    return BUSY_PAUSE if refusals else 0
