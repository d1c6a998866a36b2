"""Which pods are placed together or not at all, by their labels. Whether they can be is not asked.

Labels, because every way to make pods has them; a gang scheduler's own objects differ by release.
"""

from typing import Final

from dra_shared.events.claims import PodGroupRef
from dra_shared.kube.meta import ObjectMeta

GROUP: Final = "dra-ledger.io/group"
"""The group's name; pods of one namespace with the same name and size belong together."""

SIZE: Final = "dra-ledger.io/group-size"
"""How many pods the group has."""


def group_of(meta: ObjectMeta) -> PodGroupRef | None:
    """The group of a pod; its size is 0 if the label gives no number, which the allocator refuses."""
    labels = meta.labels or {}
    name, size = labels.get(GROUP), labels.get(SIZE, "")
    if not name:
        return None
    return PodGroupRef(name=name, size=int(size) if size.isdecimal() else 0)
