"""What a kind of simulated device must know: how many there are, what a container sees of one.

Names, attributes, capacities and variables are those of the public DRA example driver, so that
its demos run unchanged.
"""

import re
import uuid
from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from dra_node_agent.core.configs import Kinds, OpaqueConfig
from dra_node_agent.core.inventory import Inventory
from dra_shared.kube.claims import DeviceRequestAllocationResult
from dra_shared.kube.devices import DeviceAttribute

_NAMESPACE: Final = uuid.UUID("7d5c5a86-3c0b-5a44-9f0e-6f3a2f1b8c11")
"""All simulated identities descend from it, by node, kind and number."""

DRIVER_VERSION: Final = DeviceAttribute(version="1.0.0")


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How much hardware is simulated."""

    devices: int = 8
    gpu_partitions: int = 0
    gpu_multiple_allocations: bool = False
    numa_nodes: int = 8
    cpus_per_numa_node: int = 4


class Profile(Protocol):
    """One kind of simulated device."""

    @property
    def name(self) -> str:
        """The kind: class of its CDI names, prefix of its driver's name."""
        ...

    @property
    def kinds(self) -> Kinds:
        """The configuration that it understands."""
        ...

    def inventory(self, node: str, sizes: Sizes) -> Inventory:
        """All devices of the node."""
        ...

    def env(
        self, driver: str, result: DeviceRequestAllocationResult, config: OpaqueConfig | None
    ) -> dict[str, str]:
        """What a container with the device finds in its environment."""
        ...


def simulated_uuid(node: str, kind: str, number: int) -> str:
    """The same uuid for the same device of the same node, always."""
    return str(uuid.uuid5(_NAMESPACE, f"{node}/{kind}/{number}"))


def variable(name: str, prefix: str = "") -> str:
    """A device's name, without its prefix, as part of a variable's name."""
    return re.sub(r"\W", "_", name.removeprefix(prefix)).upper()


def consumed(driver: str, capacities: Mapping[str, str] | None, key: str) -> str | None:
    """How much of one of the driver's capacities a result was given; a quantity."""
    given = capacities or {}
    return given.get(key) or given.get(f"{driver}/{key}")
