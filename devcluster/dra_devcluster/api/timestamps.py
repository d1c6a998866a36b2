"""Times as Kubernetes writes them: UTC, whole seconds, ``Z``."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def timestamp(moment: datetime) -> str:
    """``2026-11-30T15:04:05Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime:
    """The time a timestamp names."""
    return datetime.fromisoformat(text)


def utc_now() -> datetime:
    """The clock of a running devcluster; tests pass their own."""
    return datetime.now(UTC)
