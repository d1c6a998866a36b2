"""Theme L, groups of pods: all are placed at the same time or none, rows 117, 119, 120 and 124."""

import time

import pytest
from lab import (
    Lab,
    Object,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_request,
    a_slice,
    first_of,
    wanted,
)

from dra_allocator.core.replay import replay
from dra_allocator.core.verify import verify
from dra_shared.events.allocations import ClaimAllocated, ClaimUnsatisfiable, ReasonKind, Refusal
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.mirror import AllocationRefused
from dra_shared.events.writers import EpochOpened

BIG = 'device.attributes["dev.lab.example"].size == 80'


def member(name: str, *claims: str, size: int = 2, group: str = "train", **spec: object) -> Object:
    labels = {"dra-ledger.io/group": group, "dra-ledger.io/group-size": str(size)}
    return a_pod(name, *claims, labels=labels, **spec)


def members(number: int, *, size: int, request: Object | None = None) -> list[Object]:
    """So many pods of a group, each with a claim of its own."""
    names = [f"m{n:02}" for n in range(number)]
    claims = [a_claim(name, request or a_request()) for name in names]
    return [*claims, *(member(name, name, size=size) for name in names)]


def a_named_node(name: str) -> Object:
    node = a_node(name)
    node["metadata"]["labels"] = {"name": name}
    return node


def is_sound(lab: Lab) -> None:
    """The log derives every decision, and the state is what a fresh replay of it gives."""
    records = lab.rehearsal.records
    assert list(verify(records)) == []
    assert lab.rehearsal.engine.state.hash() == replay(records).hash()


def test_row_117_two_members_share_a_claim_that_is_allocated_once() -> None:
    lab = Lab(a_class(), a_slice("n1", ["d0"]), a_slice("n2", ["d0"]))
    said = lab.allocate(a_claim("c1"), member("a", "c1"), member("b", "c1"))
    first, second = said
    assert isinstance(first, ClaimAllocated)
    assert isinstance(second, ClaimAllocated)
    assert [one.claim.name for one in first.claims] == ["c1"]
    assert ([*second.claims], [ref.name for ref in second.shared]) == ([], ["c1"])
    assert first.node == second.node
    is_sound(lab)


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_row_119_a_member_goes_where_the_shared_claim_can_be_reached(order: str) -> None:
    """The second can only run on n2, so the first must not take the claim's device on n1."""
    lab = Lab(
        a_class(),
        *(a_named_node(name) for name in ("n1", "n2")),
        a_slice("n1", ["d0"]),
        a_slice("n2", ["d0", "d1"]),
    )
    pods = {"a": member("a", "c1"), "b": member("b", "c1", nodeSelector={"name": "n2"})}
    lab.allocate(a_claim("c1"), *(pods[name] for name in order))
    assert lab.nodes == {"a": "n2", "b": "n2"}
    is_sound(lab)


def test_row_119_a_group_is_refused_whose_shared_claim_cannot_be_reached() -> None:
    lab = Lab(a_class(), a_named_node("n1"), a_named_node("n2"), a_slice("n1", ["d0"]))
    before = lab.rehearsal.engine.state.hash()
    lab.allocate(a_claim("c1"), member("a", "c1"), member("b", "c1", nodeSelector={"name": "n2"}))
    assert lab.nodes == {}
    assert lab.refusal("c1").refusal in {Refusal.UNSATISFIABLE, Refusal.GROUP}
    assert not lab.rehearsal.engine.state.registers.holdings
    assert before != lab.rehearsal.engine.state.hash()
    is_sound(lab)


def test_row_120_a_member_whose_write_failed_is_placed_again() -> None:
    lab = Lab(a_class(), a_slice("n1", ["d0", "d1", "d2"]))
    said = lab.allocate(*members(2, size=2))
    second = said[1]
    assert isinstance(second, ClaimAllocated)
    refused = AllocationRefused(claim=second.claims[0].claim, status=422, message="no")
    _tell(lab, refused)
    lab.allocate()
    _tell(lab, EpochOpened(writer="api-bridge", holder="next"))
    again = lab.allocate()
    assert lab.nodes == {"m00": "n1", "m01": "n1"}
    assert [fact.pod.name for fact in again if isinstance(fact, ClaimAllocated)] == ["m01"]
    is_sound(lab)


def _tell(lab: Lab, fact: AnyFact) -> None:
    lab.rehearsal.append(Envelope(id=f"test:{fact}", actor="test", fact=fact))


def test_row_124_seventeen_members_find_their_nodes_among_eighteen() -> None:
    lab = Lab(a_class(), *(a_slice(f"n{n:02}", ["channel-0"]) for n in range(18)))
    started = time.perf_counter()
    lab.allocate(*members(17, size=17))
    assert time.perf_counter() - started < 2
    assert len(set(lab.nodes.values())) == 17
    is_sound(lab)


def test_no_member_is_placed_before_all_are_there() -> None:
    lab = Lab(a_class(), a_slice("n1", ["d0", "d1", "d2"]))
    objects = members(3, size=3)
    lab.allocate(*objects[:2], *objects[3:5])
    assert lab.nodes == {}
    assert lab.refusal("m00").summary == (
        "group train of 3 pods, placed together or not at all: not all of them are there"
    )
    lab.allocate(objects[2], objects[5])
    assert len(lab.nodes) == 3
    is_sound(lab)


def test_a_group_without_room_for_all_takes_nothing_and_says_for_whom_there_is_none() -> None:
    lab = Lab(a_class(), *(a_slice(f"n{n:02}", ["d0"]) for n in range(16)))
    lab.allocate(*members(17, size=17))
    assert lab.nodes == {}
    assert lab.kinds("m00") == {ReasonKind.IN_USE: 16}
    assert "16 would have a place, but not pod ns1/m16: 0/16 nodes" in lab.refusal("m00").summary
    assert lab.refusal("m05").summary.endswith("pod ns1/m00 says why they wait")
    lab.allocate(a_claim("other"))
    assert lab.devices("other") == ["d0"]
    lab.allocate(a_slice("n16", ["d0"]), a_slice("n17", ["d0"]))
    assert len(lab.nodes) == 18
    is_sound(lab)


def test_an_earlier_member_gives_way_where_a_later_one_has_no_other_choice() -> None:
    """Whatever the policy prefers for the first, the second needs the big device of the node."""
    devices = [a_device("d0", attributes={"size": 80}), a_device("d1", attributes={"size": 8})]
    lab = Lab(a_class(), a_slice("n1", devices), policy="first-fit")
    lab.allocate(
        a_claim("any"),
        member("a", "any"),
        a_claim("big", a_request(select=BIG)),
        member("b", "big"),
    )
    assert (lab.devices("any"), lab.devices("big")) == (["d1"], ["d0"])
    is_sound(lab)


def test_an_earlier_member_takes_its_second_choice_so_that_all_have_one() -> None:
    """kubernetes#138765: alternatives of the first member must not be final."""
    devices = [a_device("d0", attributes={"size": 80}), a_device("d1", attributes={"size": 8})]
    lab = Lab(a_class(), a_class("big", BIG), a_class("small", f"!({BIG})"), a_slice("n1", devices))
    choice = first_of(big=wanted(of="big"), small=wanted(of="small"))
    lab.allocate(
        a_claim("flexible", choice),
        member("a", "flexible"),
        a_claim("fixed", a_request(of="big")),
        member("b", "fixed"),
    )
    assert [one.request for one in lab.results("flexible")] == ["r/small"]
    assert lab.devices("fixed") == ["d0"]
    is_sound(lab)


def test_a_group_that_fits_in_no_way_leaves_the_state_as_it_was() -> None:
    devices = [a_device(f"d{n}", attributes={"size": n}) for n in range(4)]
    lab = Lab(a_class(), *(a_slice(f"n{n}", devices) for n in range(3)))
    even = 'device.attributes["dev.lab.example"].size % 2 == 0'
    lab.allocate(*members(7, size=7, request=a_request(select=even)))
    state = lab.rehearsal.engine.state
    assert lab.nodes == {}
    assert not state.registers.holdings
    assert [*state.in_use.costs()] == []
    assert state.nodes.taken() == {}
    is_sound(lab)


def test_a_member_that_comes_later_or_beyond_the_size_is_placed_alone() -> None:
    lab = Lab(a_class(), a_slice("n1", ["d0", "d1", "d2", "d3"]))
    objects = members(3, size=2)
    lab.allocate(*objects)
    assert sorted(lab.nodes) == ["m00", "m01", "m02"]
    lab.delete(objects[0], objects[3])
    said = lab.allocate(a_claim("late"), member("late", "late"))
    assert [fact.pod.name for fact in said if isinstance(fact, ClaimAllocated)] == ["late"]
    is_sound(lab)


def test_the_others_say_why_when_the_first_member_is_gone() -> None:
    lab = Lab(a_class(), a_slice("n1", ["d0"]))
    objects = members(3, size=2)
    lab.allocate(*objects)
    assert "says why" in lab.refusal("m01").summary
    lab.delete(objects[0], objects[3])
    lab.allocate()
    assert lab.refusal("m01").refusal is Refusal.UNSATISFIABLE
    assert lab.refusal("m02").summary.endswith("pod ns1/m01 says why they wait")
    is_sound(lab)


def test_a_group_whose_size_is_no_number_is_told_so() -> None:
    lab = Lab(a_class(), a_slice("n1", ["d0"]))
    pod = member("a", "c1")
    pod["metadata"]["labels"]["dra-ledger.io/group-size"] = "many"
    (said,) = lab.allocate(a_claim("c1"), pod)
    assert isinstance(said, ClaimUnsatisfiable)
    assert said.summary.endswith("the size must be a number from 1 on")
