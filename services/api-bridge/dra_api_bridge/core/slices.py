"""How a pool's slices must look in the API, and the next writes that lead there.

Pools come from the inventory, already split to the API's limits. All slices of a driver whose
pools are in the log belong to the bridge: what others make of them is put right.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from dra_api_bridge.core.mirror import Mirror
from dra_api_bridge.core.objects import Topic, Work
from dra_api_bridge.core.recorded import PoolRecord
from dra_api_bridge.core.requests import CreateSlice, DeleteSlice, UpdateSlice
from dra_shared.ids import digest
from dra_shared.kube.devices import ResourceSlice, ResourceSliceSpec
from dra_shared.kube.meta import ObjectMeta, OwnerReference
from dra_shared.quantity import QuantityError, parse_quantity

MOST_OF_A_NAME: Final = 120


def slice_writes(
    mirror: Mirror, driver: str, pool: str
) -> tuple[CreateSlice | UpdateSlice | DeleteSlice, ...]:
    """The next writes for a pool: deletions first, then updates, then new slices.

    One kind at a time, so that at no moment two editions of the pool are complete.
    """
    record = mirror.recorded.pools.get((driver, pool))
    work = Work(Topic.POOL, driver, pool)
    sequence = record.sequence if record is not None else 0
    wanted = wanted_slices(mirror, driver, pool)
    ours = driver in mirror.recorded.drivers
    if wanted is None or not ours or _is_refused(mirror, work, record):
        return ()
    seen = {item.metadata.name: item for item in mirror.observed.slices(driver, pool)}
    keep = {item.metadata.name: item for item in wanted if not _must_go(item, seen)}
    if obsolete := [item for name, item in seen.items() if name not in keep]:
        return tuple(DeleteSlice(work=work, sequence=sequence, item=item) for item in obsolete)
    changed = [
        _over(seen[name], item)
        for name, item in keep.items()
        if name in seen
        and differs(seen[name], item)
        and mirror.attempts.accepted.get(name) != (sequence, seen[name].spec)
    ]
    if changed:
        return tuple(UpdateSlice(work=work, sequence=sequence, item=item) for item in changed)
    return tuple(
        CreateSlice(work=work, sequence=sequence, item=item)
        for item in wanted
        if item.metadata.name not in seen
    )


def wanted_slices(mirror: Mirror, driver: str, pool: str) -> tuple[ResourceSlice, ...] | None:
    """The pool's slices as they must be; empty for a pool that is not offered.

    None while the node is not there that has to own them.
    """
    record = mirror.recorded.pools.get((driver, pool))
    edition = record.published if record is not None else None
    if edition is None:
        return ()
    owners: tuple[OwnerReference, ...] | None = None
    if edition.node is not None:
        node = mirror.observed.node(edition.node)
        if node is None:
            return None
        owners = (_owner(edition.node, node.metadata.uid),)
    return tuple(
        ResourceSlice(
            metadata=ObjectMeta(name=slice_name(driver, pool, index), owner_references=owners),
            spec=spec,
        )
        for index, spec in enumerate(edition.slices)
    )


def slice_name(driver: str, pool: str, index: int) -> str:
    """The name of a pool's slice: sorted by it, slices keep the order of the pool."""
    plain = re.sub(r"[^a-z0-9.-]+|\.(?=[-.])|-(?=\.)", "-", f"{driver}-{pool}")[:MOST_OF_A_NAME]
    return f"{index:04x}-{plain}-{digest(driver, pool)}"


def differs(seen: ResourceSlice, wanted: ResourceSlice) -> bool:
    """Whether the server's slice is not as wanted.

    Quantities compare as numbers, and a time that the server added to a taint does not count.
    """
    return _owners(seen) != _owners(wanted) or lost_fields(seen.spec, wanted.spec) != ()


def lost_fields(seen: ResourceSliceSpec, wanted: ResourceSliceSpec) -> tuple[str, ...]:
    """Where the server's spec is not what was wanted, as paths without indexes."""
    if seen == wanted:
        return ()
    have, want = msgspec.to_builtins(seen), msgspec.to_builtins(wanted)
    return tuple(sorted(set(_differences(have, want, ""))))


def _differences(have: Any, want: Any, path: str) -> Iterable[str]:
    if isinstance(have, dict) and isinstance(want, dict):
        for key in have.keys() | want.keys():
            if not (key == "timeAdded" and key not in want):
                yield from _differences(have.get(key), want.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(have, (list, tuple)) and isinstance(want, (list, tuple)):
        if len(have) != len(want):
            yield path
        for one, other in zip(have, want, strict=False):
            yield from _differences(one, other, path)
    elif have != want and not (not have and not want) and not _same_quantity(have, want):
        yield path


def _same_quantity(have: Any, want: Any) -> bool:
    try:
        return parse_quantity(have) == parse_quantity(want)
    except (QuantityError, TypeError):
        return False


def _is_refused(mirror: Mirror, work: Work, record: PoolRecord | None) -> bool:
    """Whether the server said no to this edition, by the log or since then."""
    refusal = mirror.attempts.refusals.get(work)
    if record is None or record.refused:
        return record is not None
    return refusal is not None and refusal.is_final and refusal.sequence == record.sequence


def _must_go(wanted: ResourceSlice, seen: dict[str, ResourceSlice]) -> bool:
    """Whether a slice of this name is bound to another node, which no update may change."""
    known = seen.get(wanted.metadata.name)
    return known is not None and known.spec.node_name != wanted.spec.node_name


def _owner(node: str, uid: str) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Node", name=node, uid=uid, controller=True)


def _owners(item: ResourceSlice) -> tuple[tuple[str, str], ...]:
    return tuple((each.kind, each.uid) for each in item.metadata.owner_references or ())


def _over(seen: ResourceSlice, wanted: ResourceSlice) -> ResourceSlice:
    metadata = msgspec.structs.replace(
        wanted.metadata, uid=seen.metadata.uid, resource_version=seen.metadata.resource_version
    )
    return msgspec.structs.replace(wanted, metadata=metadata)
