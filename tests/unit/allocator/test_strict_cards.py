"""A policy that is strict about cards: who holds a device holds what other drivers have on its card."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from cluster import (
    Story,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_pool,
    a_request,
    ended,
    given,
    gone,
    placed,
    ref,
    refused,
)
from hypothesis import given as for_all
from hypothesis import strategies as st

from dra_allocator.core.books.cards import BUS_ID
from dra_allocator.core.engine import Engine
from dra_allocator.core.replay import new_state, replay
from dra_allocator.core.verify import verify
from dra_shared.events.allocations import (
    AllocationAdopted,
    AllocationFact,
    ClaimAllocated,
    ClaimReleased,
    Cost,
    ReasonKind,
)
from dra_shared.events.claims import PodGroupRef
from dra_shared.events.envelope import AnyFact
from dra_shared.events.mirror import AllocationCleared, ClearedBy, ForeignAllocationObserved
from dra_shared.events.pools import PoolPublished, PoolWithdrawn, WithdrawalReason
from dra_shared.ids import DeviceId
from dra_shared.kube.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from dra_shared.kube.devices import Device, DeviceAttribute

STRICT = "pack+strict-cards"
A, B = "drv-a", "drv-b"
NODES = ("n1", "n2")
ONLY_B = f'device.driver == "{B}"'
THROUGH_A = (ReasonKind.IN_USE, "its card, through drv-a")


def a_card(name: str, bus_id: str, **fields: Any) -> Device:
    return a_device(name, attributes={BUS_ID: DeviceAttribute(string=bus_id)}, **fields)


def pool(driver: str, *devices: Device, node: str = "n1", generation: int = 1) -> PoolPublished:
    return a_pool(node, devices, driver=driver, generation=generation)


def one_card(policy: str = STRICT) -> Story:
    """drv-a/n1/d0 and drv-b/n1/e0 are one card."""
    story = Story(policy).tell(a_class("any", "true"), a_node("n1"))
    return story.tell(pool(A, a_card("d0", "41")), pool(B, a_card("e0", "41")))


def ask(story: Story, name: str, *requests: Any) -> list[AllocationFact]:
    story.tell(a_claim(name, *requests), a_pod(f"p-{name}", name))
    return story.decide()


def on(driver: str, device: str, node: str = "n1") -> DeviceId:
    return DeviceId(driver, node, device)


def why(facts: list[AllocationFact], claim: str) -> set[tuple[ReasonKind, str]]:
    return {(one.kind, one.detail) for one in refused(facts)[f"p-{claim}"].reasons}


def test_who_gets_a_device_has_its_card_and_kubernetes_is_told_of_the_device_alone() -> None:
    (fact,) = ask(one_card(), "c1")
    assert isinstance(fact, ClaimAllocated)
    assert fact.policy == STRICT
    (got,) = fact.claims
    assert got.costs == (
        Cost(device=on(A, "d0")),
        Cost(device=on(B, "e0"), card_of=on(A, "d0")),
    )
    assert [one.device for one in got.allocation.devices.results or ()] == ["d0"]


def test_the_twin_of_a_held_device_is_not_free_and_the_refusal_says_why() -> None:
    story = one_card()
    ask(story, "c1")
    facts = ask(story, "c2", a_request("r", 1, ONLY_B))
    assert why(facts, "c2") == {THROUGH_A, (ReasonKind.SELECTOR_FALSE, ONLY_B)}
    summary = refused(facts)["p-c2"].summary
    assert summary == (
        "0/1 nodes can satisfy: 1 device in use (its card, through drv-a), 1 not selected"
    )
    story.tell(ended("p-c1"), gone("c1"))
    assert given(story.decide())["c2"][:1] == ["e0"]
    assert list(verify(story.records)) == []


def test_without_the_mode_both_are_given_away_as_before() -> None:
    story = one_card("pack")
    assert given(ask(story, "c1")) == {"c1": ["d0"]}
    assert given(ask(story, "c2")) == {"c2": ["e0"]}


def test_a_twin_that_is_published_later_is_not_free() -> None:
    story = Story(STRICT).tell(a_class("any", "true"), a_node("n1"), pool(A, a_card("d0", "41")))
    ask(story, "c1")
    story.tell(pool(B, a_card("e0", "41")))
    assert THROUGH_A in why(ask(story, "c2"), "c2")


def test_a_card_stays_held_when_the_driver_of_its_holder_has_gone() -> None:
    story = one_card()
    ask(story, "c1")
    reason = WithdrawalReason.DRIVER_GONE
    story.tell(PoolWithdrawn(driver=A, pool="n1", node="n1", reason=reason))
    assert why(ask(story, "c2"), "c2") == {THROUGH_A}


def test_a_pod_that_asks_for_both_sides_of_a_card_is_refused_with_that_reason() -> None:
    story = one_card()
    assert why(ask(story, "c1", a_request(count=2)), "c1") == {
        (ReasonKind.CONSTRAINT, "one card with a device of another driver")
    }
    story.tell(pool(B, a_card("e0", "41"), a_card("e1", "42"), generation=2))
    assert given(story.decide())["c1"][:2] == ["d0", "e1"]


@pytest.mark.parametrize("size", [1, 2])
def test_pods_of_a_group_do_not_share_a_card_by_accident(size: int) -> None:
    story, group = one_card(), PodGroupRef(name="g", size=size)
    for number in range(size):
        name = f"c{number}"
        story.tell(a_claim(name), a_pod(f"p-{name}", name, group=group))
    assert len(placed(story.decide())) == (1 if size == 1 else 0)


def test_reasons_of_the_two_modes_are_kept_apart() -> None:
    """Both are asked of one state, as verify does."""
    story = Story(STRICT).tell(a_class("any", "true"), a_node("n1"), pool(A, a_card("d0", "41")))
    ask(story, "c1")
    story.tell(pool(B, a_card("e0", "41")))
    ask(story, "c2", a_request("r", 2, ONLY_B))
    story.engine = successor(story, "pack")
    ask(story, "c3", a_request("r", 2, ONLY_B))
    assert list(verify(story.records)) == []


def test_nodes_that_look_alike_are_told_apart_by_the_driver_that_holds_the_card() -> None:
    story = Story(STRICT).tell(a_class("any", "true"), *(a_node(node) for node in NODES))
    for node in NODES:
        story.tell(pool(A, a_card("d0", "41"), node=node), pool(B, a_card("e0", "41"), node=node))
    ask(story, "c1", a_request("r", 1, f'device.driver == "{A}"'))
    ask(story, "c2", a_request("r", 1, ONLY_B))
    found = why(ask(story, "c3"), "c3")
    assert found == {
        THROUGH_A,
        (ReasonKind.IN_USE, "its card, through drv-b"),
        (ReasonKind.IN_USE, ""),
    }


def successor(story: Story, policy: str) -> Engine:
    """An allocator that starts on the story's log."""
    engine = Engine(new_state(), policy)
    engine.state.fold(story.records)
    engine.begin()
    return engine


class Step(NamedTuple):
    """Something that happens; the numbers choose to whom and how."""

    what: str
    one: int
    other: int


KINDS = (
    "pool", "pool", "pool", "pool gone", "pod", "pod", "pod", "two claims", "all", "member",
    "foreign", "claim ends", "claim ends", "pod ends", "cleared", "speak", "send", "restart",
)  # fmt: skip
STEPS = st.lists(
    st.builds(Step, st.sampled_from(KINDS), st.integers(0, 7), st.integers(0, 7)),
    min_size=10,
    max_size=60,
)


def _devices(one: int, other: int) -> list[Device]:
    """Up to three devices on three cards, parts of one card and shareable ones among them."""
    return [
        a_card(
            f"d{n}",
            str((one + n * other) % 3),
            allow_multiple_allocations=True if (one + n) % 3 == 0 else None,
        )
        for n in range(1 + other % 3)
    ]


def _born(number: int, step: Step) -> tuple[AnyFact, ...]:
    """A pod with its claims."""
    claim, pod = f"c{number}", f"p{number}"
    chosen = ((), (ONLY_B,), (f'device.driver == "{A}"',))[step.one % 3]
    some = a_request("r", 1 + step.other % 2, *chosen)
    match step.what:
        case "two claims":
            return (
                a_claim(claim, some),
                a_claim(f"{claim}x"),
                a_pod(pod, claim, f"{claim}x"),
            )
        case "all":
            whole = a_request("r", 1, *chosen, allocation_mode="All")
            return a_claim(claim, whole), a_pod(pod, claim)
        case "member":
            group = PodGroupRef(name=f"g{step.other % 2}", size=2)
            return a_claim(claim, some), a_pod(pod, claim, group=group)
        case _:
            return a_claim(claim, some), a_pod(pod, claim)


def _foreign(claim: str, device: DeviceId) -> ForeignAllocationObserved:
    result = DeviceRequestAllocationResult(
        request="r", driver=device.driver, pool=device.pool, device=device.device
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    return ForeignAllocationObserved(claim=ref(claim), allocation=allocation)


def _one_of(uids: Iterable[str], number: int) -> str:
    known = sorted(uids)
    return known[number % len(known)].removesuffix("-uid") if known else "nobody"


def _happens(story: Story, step: Step) -> tuple[AnyFact, ...]:
    number, registers = len(story.records) + 1, story.state.registers
    driver, node = (A, B)[step.one % 2], NODES[step.other % 2]
    claim = _one_of(registers.claims, step.other)
    reason = WithdrawalReason.DRIVER_GONE
    table: dict[str, AnyFact] = {
        "pool": pool(driver, *_devices(step.one, step.other), node=node, generation=number),
        "pool gone": PoolWithdrawn(driver=driver, pool=node, node=node, reason=reason),
        "foreign": _foreign(claim, on(driver, f"d{step.one % 3}", node)),
        "claim ends": gone(claim),
        "pod ends": ended(_one_of(registers.pods, step.other)),
        "cleared": AllocationCleared(claim=ref(claim), by=ClearedBy.OTHERS),
    }
    return (table[step.what],) if step.what in table else _born(number, step)


class Watch:
    """Counts who holds what, apart from the allocator's own books, and looks at each allocation."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[set[DeviceId], set[DeviceId]]] = {}
        """By claim: its devices, and what was on their cards when they were given."""

    def looks_at(self, story: Story, fact: AllocationFact, *, strict: bool) -> None:
        match fact:
            case ClaimAllocated():
                own = {
                    on(one.driver, one.device, one.pool)
                    for got in fact.claims
                    for one in got.allocation.devices.results or ()
                }
                if strict:
                    self._check(story, own)
                for got in fact.claims:
                    self._take(story, got.claim.uid, got.allocation, strict=strict)
            case AllocationAdopted():
                self._take(story, fact.claim.uid, fact.allocation, strict=strict)
            case ClaimReleased():
                self._held.pop(fact.claim.uid, None)
            case _:
                pass

    def _take(self, story: Story, uid: str, got: AllocationResult, *, strict: bool) -> None:
        own = {on(one.driver, one.device, one.pool) for one in got.devices.results or ()}
        cards = _cards(story)
        with_them = {twin for one in own for twin in _on_card_of(one, cards)} if strict else set()
        self._held[uid] = own, with_them

    def _check(self, story: Story, own: set[DeviceId]) -> None:
        cards = _cards(story)
        held = {device for devices, _ in self._held.values() for device in devices}
        frozen = {device for _, devices in self._held.values() for device in devices}
        for device in own:
            assert not _on_card_of(device, cards) & (held | own)
            assert device not in frozen


def _cards(story: Story) -> dict[DeviceId, tuple[str, str]]:
    found = {}
    for (driver, name), published in story.state.registers.pools.items():
        for spec in published.slices:
            for device in spec.devices or ():
                bus_id = (device.attributes or {})[BUS_ID].string
                found[on(driver, device.name, name)] = (name, bus_id or "")
    return found


def _on_card_of(device: DeviceId, cards: dict[DeviceId, tuple[str, str]]) -> set[DeviceId]:
    """Devices of other drivers on the card."""
    card = cards.get(device)
    return {
        one
        for one, other in cards.items()
        if card is not None and other == card and one.driver != device.driver
    }


def live(steps: list[Step], policies: tuple[str, ...]) -> Story:
    """A history under policies that change with each restart, each allocation looked at."""
    story, watch, starts = Story(policies[0]), Watch(), 0
    story.tell(a_class("any", "true"), *(a_node(node) for node in NODES))
    for step in [*steps, Step("speak", 0, 0), Step("send", 7, 0)]:
        strict = policies[starts % len(policies)].endswith("strict-cards")
        match step.what:
            case "speak":
                for fact in story.speak():
                    watch.looks_at(story, fact, strict=strict)
            case "send":
                for _ in range(min(len(story.unsent), 1 + step.one)):
                    story.append(story.unsent.pop(0))
            case "restart":
                story.send()
                starts += 1
                story.engine = successor(story, policies[starts % len(policies)])
            case _:
                story.tell(*_happens(story, step))
    story.send()
    return story


@for_all(STEPS)
def test_both_sides_of_a_card_are_never_given_away(steps: list[Step]) -> None:
    story = live(steps, (STRICT,))
    assert list(verify(story.records)) == []
    assert story.state.hash() == replay(story.records).hash()


@for_all(STEPS)
def test_a_log_verifies_whichever_mode_was_on_when(steps: list[Step]) -> None:
    """Nobody says to verify what the settings were."""
    story = live(steps, ("pack", STRICT, "spread+strict-cards"))
    for policy in ("pack", STRICT):
        wrong = [what for _, what in verify(story.records, policy) if " follows " in what]
        assert wrong == []
