"""Facts about the writers themselves: who writes from here on, and what state it had reached."""

from dra_shared.events.fact import Fact


class EpochOpened(Fact, frozen=True, kw_only=True, tag="epoch.opened.v1"):
    """From here on only this holder writes for `writer`; its sequence fences all older ones off."""

    writer: str
    holder: str


class StateRecorded(Fact, frozen=True, kw_only=True, tag="state.recorded.v1"):
    """The live service's state had this hash when it had applied everything up to `upto`."""

    writer: str
    upto: int
    state_hash: str


WriterFact = EpochOpened | StateRecorded
