"""What the allocator and its snapshotter can be told."""

from typing import Annotated, Literal

import msgspec

from dra_shared.runtime.settings import Settings


class AllocatorSettings(Settings, frozen=True, kw_only=True):
    """Settings of the allocator."""

    policy: Annotated[
        Literal["pack", "spread", "first-fit"],
        msgspec.Meta(description="which fitting node comes first: pack, spread or first-fit"),
    ] = "pack"
    strict_cards: Annotated[
        bool,
        msgspec.Meta(description="who holds a device holds what other drivers have on its card"),
    ] = False
    record_every: Annotated[
        int, msgspec.Meta(gt=0, description="facts after which the state's hash is recorded")
    ] = 1000


class SnapshotterSettings(Settings, frozen=True, kw_only=True):
    """Settings of the snapshotter."""

    snapshot_facts: Annotated[
        int, msgspec.Meta(gt=0, description="new facts after which a snapshot is due")
    ] = 100_000
    snapshot_seconds: Annotated[
        float, msgspec.Meta(ge=0, description="time after which it is due if there is anything new")
    ] = 600.0
