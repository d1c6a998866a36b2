"""What the allocator can be told."""

from typing import Annotated, Literal

import msgspec

from dra_shared.runtime.settings import Settings


class AllocatorSettings(Settings, frozen=True, kw_only=True):
    """Settings of the allocator."""

    policy: Annotated[
        Literal["pack", "spread", "first-fit"],
        msgspec.Meta(description="which fitting node comes first: pack, spread or first-fit"),
    ] = "pack"
    record_every: Annotated[
        int, msgspec.Meta(gt=0, description="facts after which the state's hash is recorded")
    ] = 1000
