"""What is under way: facts not yet read back, writes not yet seen, refusals not yet recorded.

Lost with the process, and nothing is lost with it: a restart finds out anew.
"""

from typing import Final

import msgspec

from dra_api_bridge.core.objects import Topic, Work
from dra_shared.kube.devices import ResourceSliceSpec


class Refusal(msgspec.Struct, frozen=True):
    """The API server's no to a write that the fact at `sequence` asked for.

    A status below 400 is no refusal but a reservation: it took the write, and dropped fields.
    """

    sequence: int
    status: int
    message: str

    @property
    def is_final(self) -> bool:
        """Whether nothing was taken."""
        return self.status >= FIRST_ERROR


class Unfit(msgspec.Struct, frozen=True):
    """Why a pod cannot stay where it was placed."""

    node: str
    message: str


IN_FLIGHT: Final = -1

TELLING_PAUSE: Final = 20.0
"""Seconds between two events on the same pod."""

FIRST_ERROR: Final = 400
"""HTTP statuses from here on are refusals."""

LARGEST: Final = 1_000_000
"""Bytes of an event: NATS takes 1 MiB in a message, headers included, unless told otherwise."""

FIRST_PATIENCE: Final = 1.5
MOST_PATIENCE: Final = 12.0
"""A little more than kube-scheduler's longest pause between two tries of a pod, 10 s."""


class Attempts:
    """One write at a time for each object, one fact at a time for each topic.

    `refusals` are by what was written, `cleared` by claim uid, `accepted` by slice name: what the
    server made of the slice that the edition at this sequence asked for. `too_large`: what cannot
    be said in an event, and how many bytes it would have.
    """

    def __init__(self) -> None:
        self.refusals: dict[Work, Refusal] = {}
        self.cleared: dict[str, Unfit] = {}
        self.accepted: dict[str, tuple[int, ResourceSliceSpec]] = {}
        self.too_large: dict[Work, int] = {}
        self._unread: set[str] = set()
        self._writes: dict[Work, int] = {}
        self._stuck: dict[str, tuple[object, float]] = {}
        self._moves: dict[str, int] = {}
        self._told: dict[str, tuple[str, float]] = {}

    def is_unread(self, identity: str) -> bool:
        """Whether this fact was appended and has not come back yet."""
        return identity in self._unread

    def appended(self, identity: str) -> None:
        """Notes a fact that is on its way into the log."""
        self._unread.add(identity)

    def read_back(self, identity: str) -> None:
        """Notes that the log brought the fact back."""
        self._unread.discard(identity)

    def may_write(self, target: Work, seen: int) -> bool:
        """Whether no write is under way and its outcome is among what was seen of the kind."""
        awaited = self._writes.get(target)
        if awaited is None:
            return True
        if awaited == IN_FLIGHT or seen < awaited:
            return False
        del self._writes[target]
        return True

    def started(self, target: Work) -> None:
        """Notes a write that has been sent."""
        self._writes[target] = IN_FLIGHT

    def ended(self, target: Work, awaited: int) -> None:
        """Notes the version from which on the write's outcome can be seen, 0 for at once."""
        self._writes[target] = awaited

    def forget(self, work: Work) -> None:
        """Notes that the log has nothing more to do with the claim or pod."""
        self.refusals.pop(work, None)
        self.cleared.pop(work.name, None)
        self._stuck.pop(work.name, None)
        self._moves.pop(work.name, None)
        self._told.pop(work.name, None)

    def forget_slices(self) -> None:
        """Notes that another server may take what this one refused or dropped of our slices."""
        self.accepted.clear()
        for work in [work for work in self.refusals if work.topic is Topic.POOL]:
            del self.refusals[work]

    def stuck_for(self, pod: str, evidence: object, now: float) -> float:
        """Seconds since the pod was first seen stuck for the same reason."""
        known = self._stuck.get(pod)
        if known is None or known[0] != evidence:
            self.goes_on(pod)
            self._stuck[pod] = known = (evidence, now)
        return now - known[1]

    def patience(self, pod: str) -> float:
        """Seconds for which a pod must be stuck: longer each time, as the scheduler's pauses are."""
        return min(FIRST_PATIENCE * (1 << self._moves.get(pod, 0)), MOST_PATIENCE)

    def telling_waits(self, pod: str, message: str, now: float) -> float | None:
        """Seconds until the pod may be told this, None if this is what it was told last."""
        known = self._told.get(pod)
        if known is None:
            return 0.0
        return None if known[0] == message else max(0.0, known[1] + TELLING_PAUSE - now)

    def goes_on(self, pod: str) -> None:
        """Notes that the pod is no longer stuck for what it was: that may be told anew."""
        evidence, _ = self._stuck.pop(pod, (None, 0))
        if self._told.get(pod, (None, 0))[0] == evidence:
            self._told.pop(pod, None)

    def told(self, pod: str, message: str, now: float) -> None:
        """Notes what the pod is being told."""
        self._told[pod] = (message, now)

    def moved(self, pod: str) -> None:
        """Notes that something the pod holds is being taken back."""
        self._moves[pod] = self._moves.get(pod, 0) + 1
