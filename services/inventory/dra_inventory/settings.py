"""What the inventory can be told."""

from typing import Annotated

import msgspec

from dra_shared.runtime.settings import Settings


class InventorySettings(Settings, frozen=True, kw_only=True):
    """Settings of the inventory."""

    silence_seconds: Annotated[
        float,
        msgspec.Meta(
            gt=0, description="a node is lost so long after its agent's sign of life expired"
        ),
    ] = 8.0
    record_every: Annotated[
        int, msgspec.Meta(gt=0, description="facts after which the state's hash is recorded")
    ] = 1000
