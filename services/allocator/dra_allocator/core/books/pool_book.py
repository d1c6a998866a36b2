"""All pools, and what each node sees of them.

Read when somebody asks and kept until a fact changes one of them. Knows nothing of claims or of
what is in use.
"""

from collections.abc import Hashable
from itertools import count
from typing import Final

import msgspec

from dra_allocator.core.books.taint_rules import tainted
from dra_allocator.core.books.tight import smallest_first
from dra_allocator.core.fold.registers import PoolKey, Registers
from dra_allocator.core.search.devices import CounterName, PoolDevice
from dra_allocator.core.search.features import DEFAULT_FEATURES, Feature, Features
from dra_allocator.core.search.nodes import NodeView
from dra_allocator.core.search.pools import (
    Pool,
    PoolId,
    PoolSlices,
    search_order,
    seen_from,
)
from dra_shared.events.pools import PoolPublished
from dra_shared.ids import DeviceId
from dra_shared.kube.devices import ResourceSlice
from dra_shared.kube.meta import ObjectMeta
from dra_shared.quantity import parse_quantity

MOST_CONTENTS: Final = 16_384
"""Contents of pools that are told apart; beyond that equal ones may get a second number."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class PoolBook:
    """Pools by node. `forget` functions say which nodes see something new."""

    def __init__(self, registers: Registers) -> None:
        self._registers = registers
        self._groups: dict[PoolKey, PoolSlices] = {}
        self._local: dict[str, set[PoolKey]] = {}
        self.wide: set[PoolKey] = set()
        """Pools that are not bound to nodes by their names; for reading."""
        self._wide_views: dict[PoolId, dict[Hashable, Pool]] = {}
        self._wide_contents: dict[PoolId, dict[Pool, int]] = {}
        self._seen: dict[str, dict[PoolId, Pool]] = {}
        self._pools: dict[str, tuple[Pool, ...]] = {}
        self._smallest_first: dict[str, tuple[Pool, ...]] = {}
        self._contents: dict[str, tuple[int, ...]] = {}
        self._numbers: dict[bytes, int] = {}
        self._next_number = count()
        for key in (*registers.pools.view, *registers.foreign.view):
            self.forget_pool(key)

    def features(self) -> Features:
        """What the API server accepts; Kubernetes' defaults as long as nobody said."""
        observed = self._registers.features.get("")
        if observed is None:
            return DEFAULT_FEATURES
        return frozenset(feature for feature in Feature if feature.value in observed.features)

    def pools_of(self, node: NodeView, *, smallest: bool = False) -> tuple[Pool, ...]:
        """What the node sees, in search order; the same objects until something changes.

        With `smallest`, small devices come before large ones inside each pool.
        """
        pools = self._pools.get(node.name)
        if pools is None:
            seen = self._seen.setdefault(node.name, {})
            for id_ in (*self._local.get(node.name, ()), *self.wide):
                if id_ not in seen and (pool := seen_from(self._groups[id_], node)) is not None:
                    seen[id_] = self._once(pool)
            pools = self._pools[node.name] = search_order(seen.values())
        if not smallest:
            return pools
        ordered = self._smallest_first.get(node.name)
        if ordered is None:
            ordered = tuple(smallest_first(pool) for pool in pools)
            self._smallest_first[node.name] = ordered
        return ordered

    def contents_of(self, node: NodeView) -> tuple[int, ...]:
        """A number for what is in each of `pools_of`: equal for pools that differ by name alone."""
        contents = self._contents.get(node.name)
        if contents is None:
            contents = tuple(self._content(pool) for pool in self.pools_of(node))
            self._contents[node.name] = contents
        return contents

    def forget_node(self, node: str) -> None:
        """The node's labels or features changed: it may see other devices."""
        self._seen.pop(node, None)
        self._forget_views(node)

    def forget_pool(self, key: PoolKey) -> frozenset[str] | None:
        """A pool changed: it is read again. Gives the nodes concerned, None for any node."""
        id_ = PoolId(*key)
        before = self._groups.pop(id_, None)
        self._wide_views.pop(id_, None)
        self._wide_contents.pop(id_, None)
        slices = self._slices_of(key)
        after = PoolSlices(id_, slices, self.features()) if slices else None
        if after is not None:
            self._groups[id_] = after
        concerned = _nodes_of(before, after)
        self._place(id_, before, present=False)
        self._place(id_, after, present=True)
        for node in self._seen if concerned is None else concerned:
            self._seen.get(node, {}).pop(id_, None)
            self._forget_views(node)
        return concerned

    def nodes_seeing(self, key: PoolKey) -> frozenset[str] | None:
        """The nodes that can see the pool, None for any node."""
        group = self._groups.get(key)
        return frozenset() if group is None else group.node_names

    def device(self, id_: DeviceId) -> PoolDevice | None:
        """The device as its pool's newest edition describes it, wherever it can be seen."""
        group = self._groups.get(PoolId(id_.driver, id_.pool))
        slices = group.slices if group else ()
        for one in sorted(slices, key=lambda one: -one.generation):
            for device in one.devices:
                if device.id == id_:
                    return device
        return None

    def counters(self, key: PoolKey) -> dict[CounterName, int]:
        """All counters of a pool's newest edition, in nano units."""
        group = self._groups.get(key)
        slices = group.slices if group else ()
        newest = max((one.generation for one in slices), default=0)
        return {
            CounterName(counters.name, name): parse_quantity(counter.value).nanos
            for one in slices
            if one.generation == newest
            for counters in one.slice.spec.shared_counters or ()
            for name, counter in counters.counters.items()
        }

    def all_keys(self) -> tuple[PoolKey, ...]:
        """All pools that exist."""
        return tuple(self._groups)

    def _forget_views(self, node: str) -> None:
        for views in (self._pools, self._smallest_first, self._contents):
            views.pop(node, None)

    def _once(self, pool: Pool) -> Pool:
        """The same object for all nodes that see the same of a wide pool."""
        if pool.id not in self.wide:
            return pool
        views = self._wide_views.setdefault(pool.id, {})
        return views.setdefault((pool.devices, pool.here, pool.unfit, pool.fault_detail), pool)

    def _content(self, pool: Pool) -> int:
        if pool.id not in self.wide:
            return self._number(pool)
        known = self._wide_contents.setdefault(pool.id, {})
        if pool not in known:
            known[pool] = self._number(pool)
        return known[pool]

    def _number(self, pool: Pool) -> int:
        specs = [device.slice.spec for device in pool.devices]
        parts = (
            pool.id.driver,
            [device.device for device in pool.devices],
            [(spec.node_selector, spec.skip_node_operations) for spec in specs],
            [(str(counter), amount) for counter, amount in pool.counters.items()],
            (pool.here, pool.unfit, pool.binds, pool.fault, pool.fault_detail),
        )
        key = _ENCODER.encode(parts)
        number = self._numbers.get(key)
        if number is None:
            if len(self._numbers) >= MOST_CONTENTS:
                self._numbers.clear()
            number = self._numbers[key] = next(self._next_number)
        return number

    def _place(self, id_: PoolId, group: PoolSlices | None, *, present: bool) -> None:
        if group is None:
            return
        if group.node_names is None:
            homes = [self.wide]
        else:
            homes = [self._local.setdefault(node, set()) for node in group.node_names]
        for home in homes:
            home.add(id_) if present else home.discard(id_)

    def _slices_of(self, key: PoolKey) -> tuple[ResourceSlice, ...]:
        registers = self._registers
        if (published := registers.pools.get(key)) is not None:
            slices = _as_slices(published)
        elif (foreign := registers.foreign.get(key)) is not None:
            slices = foreign.slices
        else:
            return ()
        rules = [rule for _, rule in sorted(registers.taint_rules.items())]
        return tuple(tainted(slice_, rules) for slice_ in slices)


def _nodes_of(*groups: PoolSlices | None) -> frozenset[str] | None:
    nodes: frozenset[str] = frozenset()
    for group in groups:
        if group is not None and group.node_names is None:
            return None
        if group is not None and group.node_names is not None:
            nodes |= group.node_names
    return nodes


def _as_slices(published: PoolPublished) -> tuple[ResourceSlice, ...]:
    """Our own slices under names that sort in the order in which they were published."""
    return tuple(
        ResourceSlice(metadata=ObjectMeta(name=f"{place:06}"), spec=spec)
        for place, spec in enumerate(published.slices)
    )
