"""The clock of the kubelet stand-in, in the API's format."""

from datetime import UTC, datetime


def now() -> str:
    """The present moment, UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
