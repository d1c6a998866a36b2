"""Cards that several drivers publish, and what holding them for one means for the books."""

from cluster import Story, a_claim, a_class, a_device, a_node, a_pod, a_pool, a_record, ref
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dra_allocator.core.books.cards import BUS_ID, Cards
from dra_allocator.core.fold.registers import Registers
from dra_allocator.core.settle import settle
from dra_allocator.core.verify import verify
from dra_shared.events.allocations import AllocationAdopted, ClaimAllocated, Cost
from dra_shared.events.envelope import Envelope
from dra_shared.events.mirror import ForeignAllocationObserved
from dra_shared.events.pools import PoolPublished
from dra_shared.ids import DeviceId
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from dra_shared.kube.devices import Device, DeviceAttribute

DRIVERS = ("drv-a", "drv-b", "drv-c")


def a_card(name: str, bus_id: str) -> Device:
    return a_device(name, attributes={BUS_ID: DeviceAttribute(string=bus_id)})


def on(driver: str, name: str, node: str = "n1") -> DeviceId:
    return DeviceId(driver, node, name)


def held_by(device: DeviceId) -> Cost:
    return Cost(device=device)


def as_card_of(twin: DeviceId, device: DeviceId) -> Cost:
    return Cost(device=twin, card_of=device)


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(DRIVERS),
        st.sampled_from(["n1", "n2"]),
        st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("1234")), max_size=4),
    ),
    max_size=12,
)


@given(CHANGES)
def test_twins_are_the_devices_of_other_drivers_on_the_same_card(
    changes: list[tuple[str, str, list[tuple[str, str]]]],
) -> None:
    registers, cards = Registers(), Cards()
    for generation, (driver, node, devices) in enumerate(changes, 1):
        parts = [a_card(name, bus_id) for name, bus_id in devices]
        pool: PoolPublished = a_pool(node, parts, generation=generation, driver=driver)
        registers.pools.put((driver, node), pool)
        cards.read(registers, (driver, node))
    anew = Cards()
    for key in registers.pools:
        anew.read(registers, key)
    assert (anew.twice, anew.twins) == (cards.twice, cards.twins)
    by_card = {device: card for card, devices in cards.twice.items() for device in devices}
    assert by_card.keys() == cards.twins.keys()
    for device, twins in cards.twins.items():
        same = [other for other, card in by_card.items() if card == by_card[device]]
        assert twins == tuple(sorted(other for other in same if other.driver != device.driver))


def shared_card() -> Story:
    """drv-a's d0 and drv-b's e0 are one card; c1 has d0, c2 waits for nobody."""
    story = Story().tell(a_class("any", "true"), a_node("n1"))
    for driver, name in (("drv-a", "d0"), ("drv-b", "e0")):
        story.tell(a_pool("n1", [a_card(name, "41")], driver=driver))
    story.tell(a_claim("c1"), a_pod("p1", "c1"))
    story.decide()
    story.tell(a_claim("c2"))
    return story


def foreign(claim: str, *devices: DeviceId) -> ForeignAllocationObserved:
    results = tuple(
        DeviceRequestAllocationResult(
            request="r", driver=each.driver, pool=each.pool, device=each.device
        )
        for each in devices
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
    return ForeignAllocationObserved(claim=ref(claim), allocation=allocation)


def test_an_adopted_device_holds_its_card_if_cards_are_strict() -> None:
    d0, e0 = on("drv-a", "d0"), on("drv-b", "e0")
    story = shared_card().tell(foreign("c2", e0))
    plain = settle(story.state, "c2-uid")
    strict = settle(story.state, "c2-uid", strict_cards=True)
    assert isinstance(plain, AllocationAdopted)
    assert isinstance(strict, AllocationAdopted)
    assert (plain.costs, plain.conflicts, plain.strict_cards) == ((held_by(e0),), (), False)
    assert strict.costs == (held_by(e0), as_card_of(d0, e0))
    assert (strict.conflicts, strict.strict_cards) == ((d0,), True)


def test_parts_of_a_card_that_others_allocated_are_no_conflict() -> None:
    story = shared_card()
    parts = [a_card("d0", "41"), a_card("d1", "41")]
    story.tell(a_pool("n1", parts, driver="drv-a", generation=2), a_claim("c3"))
    d0, d1, e0 = on("drv-a", "d0"), on("drv-a", "d1"), on("drv-b", "e0")
    for claim, device in (("c2", d1), ("c3", d0)):
        story.tell(foreign(claim, device))
        adopted = settle(story.state, f"{claim}-uid", strict_cards=True)
        assert isinstance(adopted, AllocationAdopted)
        assert adopted.costs == (held_by(device), as_card_of(e0, device))
        assert adopted.conflicts == (() if claim == "c2" else (d0,))
        number = len(story.records)
        story.append(Envelope(id=f"own:{number}", cause=number, actor="a", fact=adopted))
    assert list(verify(story.records)) == []


def forged(story: Story, *costs: Cost) -> list[str]:
    """What is wrong when c2 is given this besides, beyond that it does not follow."""
    taken = next(r for r in story.records if isinstance(r.envelope.fact, ClaimAllocated))
    fact = taken.envelope.fact
    assert isinstance(fact, ClaimAllocated)
    got = replace(fact.claims[0], claim=ref("c2"), costs=costs)
    number = len(story.records) + 1
    double = replace(
        taken.envelope, id="forged", cause=number - 1, fact=replace(fact, claims=(got,))
    )
    findings = verify([*story.records, a_record(double, number)])
    return [what for _, what in findings if " follows " not in what]


def test_the_ledger_finds_a_card_that_two_hold() -> None:
    d0, e0 = on("drv-a", "d0"), on("drv-b", "e0")
    assert forged(shared_card(), held_by(e0)) == []
    assert forged(shared_card(), held_by(e0), as_card_of(d0, e0)) == [
        "device drv-a/n1/d0 is held 2 times"
    ]
