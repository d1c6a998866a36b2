"""Which DRA features an API server has: by its release, by what it keeps of a probe, by settings.

A server drops, or refuses, the fields of a feature that is switched off. So a slice that uses one
feature, sent as a dry run, shows whether it is on. What no slice can show is taken from the
release's defaults (Kubernetes 1.34 to 1.37, pkg/features/kube_features.go). Names are those of
the gates without `DRA`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from dra_api_bridge.core.slices import lost_fields
from dra_shared.kube.devices import ResourceSlice

_SINCE: Final = {
    "AdminAccess": 34,
    "PrioritizedList": 34,
    "DeviceTaints": 36,
    "PartitionableDevices": 36,
    "ConsumableCapacity": 36,
    "DeviceBindingAndStatus": 36,
    "FractionalCapacityRange": 37,
}

_COUNTERS: Final = {"x": {"value": "1"}}

_PROBES: Final[Mapping[str, Mapping[str, Any]]] = {
    "DeviceTaints": {
        "devices": [{"name": "d", "taints": [{"key": "k", "effect": "NoSchedule"}]}],
    },
    "PartitionableDevices": {"sharedCounters": [{"name": "c", "counters": _COUNTERS}]},
    "ConsumableCapacity": {"devices": [{"name": "d", "allowMultipleAllocations": True}]},
    "DeviceBindingAndStatus": {
        "devices": [
            {"name": "d", "bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
        ],
    },
    "ListTypeAttributes": {"devices": [{"name": "d", "attributes": {"a": {"strings": ["x"]}}}]},
    "CompatibilityGroups": {
        "devices": [
            {
                "name": "d",
                "consumesCounters": [
                    {"counterSet": "c", "counters": _COUNTERS, "compatibilityGroups": ["g"]}
                ],
            }
        ],
    },
    "OptionalNodeOperations": {
        "devices": [{"name": "d"}],
        "skipNodeOperations": ["NodePrepareResources", "NodeUnprepareResources"],
    },
}

KNOWN: Final = frozenset(_SINCE) | frozenset(_PROBES) | {"DerivedAttributes"}


class UnknownFeatureError(ValueError):
    """A feature was named that this release does not know: the operator must correct the setting."""


def probes() -> Mapping[str, ResourceSlice]:
    """For each feature that a slice can show, a slice that uses it."""
    return {name: _slice(name, spec) for name, spec in _PROBES.items()}


def is_on(probe: ResourceSlice, kept: ResourceSlice) -> bool:
    """Whether the server kept what the probe uses."""
    return not lost_fields(kept.spec, probe.spec)


def check(overrides: Iterable[str]) -> None:
    """Raises UnknownFeatureError if an override names no known feature."""
    for each in overrides:
        name = each.lstrip("+-")
        if name not in KNOWN:
            raise UnknownFeatureError(f"{name!r} is none of {', '.join(sorted(KNOWN))}")


def features(
    major: str, minor: str, probed: Mapping[str, bool], overrides: Iterable[str]
) -> tuple[str, ...]:
    """The features that are on: by default in this version, as probed, as overridden.

    Overrides are `Name` for on and `-Name` for off.
    """
    release = (int(major or 1), int("".join(c for c in minor if c.isdigit()) or 0))
    on = {name for name, since in _SINCE.items() if release >= (1, since)}
    on = {name for name in on if probed.get(name, True)} | {n for n, yes in probed.items() if yes}
    for each in overrides:
        (on.discard if each.startswith("-") else on.add)(each.lstrip("+-"))
    return tuple(sorted(on))


def _slice(name: str, spec: Mapping[str, Any]) -> ResourceSlice:
    pool = {"name": "probe", "generation": 1, "resourceSliceCount": 1}
    whole = {"driver": "probe.dra-ledger.io", "pool": pool, "allNodes": True, **spec}
    metadata = {"name": f"dra-ledger-probe-{name.lower()}"}
    return msgspec.convert({"metadata": metadata, "spec": whole}, ResourceSlice)
