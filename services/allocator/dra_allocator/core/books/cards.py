"""Cards that several drivers publish: one PCI bus id of one node in pools of two drivers.

Each driver believes that it alone gives the card away, so two claims may end up on it. That is made
known (NVIDIA/aicr#332); `search/twins.py` is what a strict policy makes of it. Devices of one driver
may well share a card, as partitions do.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from dra_allocator.core.fold.registers import PoolKey, Registers
from dra_shared.ids import DeviceId
from dra_shared.kube.devices import ResourceSliceSpec

BUS_ID: Final = "resource.kubernetes.io/pciBusID"
"""Standardised by Kubernetes, so that all drivers mean the same."""


class Card(NamedTuple):
    """A place in a machine."""

    node: str
    bus_id: str


class Cards:
    """All cards of all pools. `twice`: those that more than one driver publishes, with all devices.

    `twins`: for each device on them, the devices of other drivers there.
    """

    def __init__(self) -> None:
        self.twice: dict[Card, tuple[DeviceId, ...]] = {}
        self.twins: dict[DeviceId, tuple[DeviceId, ...]] = {}
        self._by_pool: dict[PoolKey, tuple[tuple[Card, DeviceId], ...]] = {}
        self._by_card: dict[Card, set[DeviceId]] = {}

    def read(self, registers: Registers, key: PoolKey) -> None:
        """Takes in that a pool is different now, or gone."""
        before = self._by_pool.pop(key, ())
        after = _cards_in(key, _slices(registers, key))
        if after:
            self._by_pool[key] = after
        for card, device in before:
            self._by_card[card].discard(device)
        for card, device in after:
            self._by_card.setdefault(card, set()).add(device)
        cards = {card for card, _ in (*before, *after)}
        for device in [device for card in cards for device in self.twice.pop(card, ())]:
            del self.twins[device]
        for card in cards:
            self._judge(card)

    def _judge(self, card: Card) -> None:
        devices = self._by_card[card]
        if len({device.driver for device in devices}) > 1:
            self.twice[card] = ordered = tuple(sorted(devices))
            for one in ordered:
                self.twins[one] = tuple(other for other in ordered if other.driver != one.driver)
        if not devices:
            del self._by_card[card]


def cards_of(registers: Registers) -> Cards:
    """The cards of all pools there are."""
    cards = Cards()
    for key in (*registers.pools.view, *registers.foreign.view):
        cards.read(registers, key)
    return cards


def _slices(registers: Registers, key: PoolKey) -> Iterable[ResourceSliceSpec]:
    if (published := registers.pools.get(key)) is not None:
        return published.slices
    foreign = registers.foreign.get(key)
    return (one.spec for one in foreign.slices) if foreign is not None else ()


def _cards_in(
    key: PoolKey, slices: Iterable[ResourceSliceSpec]
) -> tuple[tuple[Card, DeviceId], ...]:
    """The cards of a pool's newest edition; a device that is there twice counts as it is first."""
    cards: dict[DeviceId, Card] = {}
    for card, device in _each_card(key, tuple(slices)):
        cards.setdefault(device, card)
    return tuple((card, device) for device, card in cards.items())


def _each_card(
    key: PoolKey, specs: tuple[ResourceSliceSpec, ...]
) -> Iterator[tuple[Card, DeviceId]]:
    newest = max((spec.pool.generation for spec in specs), default=0)
    for spec in specs:
        for device in spec.devices or () if spec.pool.generation == newest else ():
            attribute = (device.attributes or {}).get(BUS_ID)
            node = spec.node_name or device.node_name
            if attribute is not None and attribute.string and node:
                yield Card(node, attribute.string), DeviceId(*key, device.name)
