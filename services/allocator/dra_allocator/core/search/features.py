"""Which optional parts of DRA are on: an argument of the search, never a global."""

from enum import StrEnum
from typing import Final


class Feature(StrEnum):
    """One optional part of DRA, by the name that Kubernetes' allocator gives it."""

    ADMIN_ACCESS = "AdminAccess"
    PRIORITIZED_LIST = "PrioritizedList"
    PARTITIONABLE_DEVICES = "PartitionableDevices"
    DEVICE_TAINTS = "DeviceTaints"
    BINDING_CONDITIONS = "DeviceBindingAndStatus"
    CONSUMABLE_CAPACITY = "ConsumableCapacity"
    FRACTIONAL_CAPACITY = "FractionalCapacityRange"
    LIST_ATTRIBUTES = "ListTypeAttributes"
    OPTIONAL_NODE_OPERATIONS = "OptionalNodeOperations"
    DERIVED_ATTRIBUTES = "DerivedAttributes"
    COMPATIBILITY_GROUPS = "CompatibilityGroups"


Features = frozenset[Feature]

DEFAULT_FEATURES: Final[Features] = frozenset(
    {
        Feature.ADMIN_ACCESS,
        Feature.PRIORITIZED_LIST,
        Feature.PARTITIONABLE_DEVICES,
        Feature.DEVICE_TAINTS,
        Feature.BINDING_CONDITIONS,
        Feature.CONSUMABLE_CAPACITY,
        Feature.FRACTIONAL_CAPACITY,
    }
)
"""What Kubernetes 1.37 has on by default."""
