"""What the bridge can be told, by environment variables."""

from typing import Annotated

import msgspec

from dra_shared.runtime.settings import Settings


class BridgeSettings(Settings, frozen=True, kw_only=True):
    """The bridge's own settings beside those of every service."""

    kubeconfig: Annotated[
        str, msgspec.Meta(description="kubeconfig file; empty: the cluster this pod runs in")
    ] = ""
    features: Annotated[
        str,
        msgspec.Meta(
            description="DRA features other than the server's defaults, such as "
            "`ListTypeAttributes,-DeviceTaints`"
        ),
    ] = ""

    @property
    def overrides(self) -> tuple[str, ...]:
        """The named features, those to be switched off with a minus."""
        return tuple(each.strip() for each in self.features.split(",") if each.strip())
