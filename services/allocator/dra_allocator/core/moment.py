"""When and from what a decision was made: the place in the log gives time and identity."""

import uuid
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec

_NAMESPACE: Final = uuid.UUID("7b0f0f6a-3e0c-5d6b-9a55-0d1f6c0a7d11")
"""Only sets our names apart from those of other makers of version 5 UUIDs."""


class Moment(msgspec.Struct, frozen=True, gc=False):
    """A place in the log, where one pod is decided.

    `cause`: the sequence of the newest record applied. `time_ns`: the server's time of it.
    """

    cause: int
    time_ns: int
    pod_uid: str

    def rfc3339(self) -> str:
        """The time in seconds, as Kubernetes writes it."""
        return _rfc3339(self.time_ns // 10**9)

    def share_id(self, ordinal: int) -> str:
        """The id of the pod's n-th share that is decided here: the same in every replay."""
        return str(uuid.uuid5(_NAMESPACE, f"{self.pod_uid}/{self.cause}/{ordinal}"))


@lru_cache(maxsize=64)
def _rfc3339(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
