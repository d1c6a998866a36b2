"""Which DRA features an API server of a release has switched on by default.

Source: the feature gates of Kubernetes 1.34 to 1.37 (pkg/features/kube_features.go). Names are
those of the gates without `DRA`.
"""

from collections.abc import Iterable
from typing import Final

_SINCE: Final = {
    "AdminAccess": 34,
    "PrioritizedList": 34,
    "DeviceTaints": 36,
    "PartitionableDevices": 36,
    "ConsumableCapacity": 36,
    "DeviceBindingAndStatus": 36,
    "FractionalCapacityRange": 37,
}

KNOWN: Final = frozenset(_SINCE) | {
    "ListTypeAttributes",
    "DerivedAttributes",
    "CompatibilityGroups",
    "OptionalNodeOperations",
}


class UnknownFeatureError(ValueError):
    """A feature was named that this release does not know: the operator must correct the setting."""


def check(overrides: Iterable[str]) -> None:
    """Raises UnknownFeatureError if an override names no known feature."""
    for each in overrides:
        name = each.lstrip("+-")
        if name not in KNOWN:
            raise UnknownFeatureError(f"{name!r} is none of {', '.join(sorted(KNOWN))}")


def features(major: str, minor: str, overrides: Iterable[str]) -> tuple[str, ...]:
    """The features on by default in this version, changed by overrides: `Name` on, `-Name` off."""
    release = (int(major or 1), int("".join(c for c in minor if c.isdigit()) or 0))
    on = {name for name, since in _SINCE.items() if release >= (1, since)}
    for each in overrides:
        (on.discard if each.startswith("-") else on.add)(each.lstrip("+-"))
    return tuple(sorted(on))
