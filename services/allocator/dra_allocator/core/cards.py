"""Cards that several drivers publish: one PCI bus id of one node in pools of two drivers.

Each driver believes that it alone gives the card away, so two claims may end up on it. Nothing is
refused because of that: it is made known (NVIDIA/aicr#332). Devices of one driver may well share a
card, as partitions do.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from dra_allocator.core.registers import PoolKey, Registers
from dra_shared.ids import DeviceId
from dra_shared.kube.devices import ResourceSliceSpec

BUS_ID: Final = "resource.kubernetes.io/pciBusID"
"""Standardised by Kubernetes, so that all drivers mean the same."""


class Card(NamedTuple):
    """A place in a machine."""

    node: str
    bus_id: str


class Cards:
    """All cards of all pools. `twice`: those that more than one driver publishes, with all devices."""

    def __init__(self) -> None:
        self.twice: dict[Card, tuple[DeviceId, ...]] = {}
        self._by_pool: dict[PoolKey, tuple[tuple[Card, DeviceId], ...]] = {}
        self._by_card: dict[Card, set[DeviceId]] = {}

    def read(self, registers: Registers, key: PoolKey) -> None:
        """Takes in that a pool is different now, or gone."""
        before = self._by_pool.pop(key, ())
        after = tuple(_cards_in(key, _slices(registers, key)))
        if after:
            self._by_pool[key] = after
        for card, device in before:
            self._by_card[card].discard(device)
        for card, device in after:
            self._by_card.setdefault(card, set()).add(device)
        for card in {card for card, _ in (*before, *after)}:
            self._judge(card)

    def _judge(self, card: Card) -> None:
        devices = self._by_card[card]
        if len({device.driver for device in devices}) > 1:
            self.twice[card] = tuple(sorted(devices))
        else:
            self.twice.pop(card, None)
        if not devices:
            del self._by_card[card]


def _slices(registers: Registers, key: PoolKey) -> Iterable[ResourceSliceSpec]:
    if (published := registers.pools.get(key)) is not None:
        return published.slices
    foreign = registers.foreign.get(key)
    return (one.spec for one in foreign.slices) if foreign is not None else ()


def _cards_in(key: PoolKey, slices: Iterable[ResourceSliceSpec]) -> Iterator[tuple[Card, DeviceId]]:
    """The cards of a pool's newest edition."""
    specs = tuple(slices)
    newest = max((spec.pool.generation for spec in specs), default=0)
    for spec in specs:
        for device in spec.devices or () if spec.pool.generation == newest else ():
            attribute = (device.attributes or {}).get(BUS_ID)
            node = spec.node_name or device.node_name
            if attribute is not None and attribute.string and node:
                yield Card(node, attribute.string), DeviceId(*key, device.name)
