"""Theme D, a placement that exists and is not found, or one that should not be: rows 49 to 60."""

import time

import cluster
import pytest
from lab import (
    DRIVER,
    Lab,
    Object,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_request,
    a_slice,
    an_object,
    everything,
    first_of,
    wanted,
)

from dra_cli.core.completion import complete
from dra_cli.core.manifests import BadManifestError, Document, read
from dra_cli.core.rehearsal import Rehearsal
from dra_shared.events.allocations import ClaimAllocated, ReasonKind, Refusal

NUMA = f'device.attributes["{DRIVER}"].numa == 1'


def has(name: str, **attributes: object) -> Object:
    return a_device(name, attributes=attributes)


def holds(name: str, gigabytes: int) -> Object:
    return a_device(name, capacity={"memory": f"{gigabytes}Gi"})


def at_least(gigabytes: int) -> str:
    return f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{gigabytes}Gi")) >= 0'


def test_row_49_going_back_widens_again_what_lists_have_in_common() -> None:
    lists = {"a": [1, 2, 3], "b": [1, 2], "d": [3], "e": [3]}
    devices = [has(name, ints=values) for name, values in lists.items()]
    lab = Lab(a_class(), a_slice("n1", devices))
    lab.allocate(a_claim("c1", a_request(count=3), match=f"{DRIVER}/ints"))
    assert lab.devices("c1") == ["a", "d", "e"]


def numa_lab(*others: Object) -> Lab:
    """n2's device has no attribute numa."""
    return Lab(
        a_class(),
        *others,
        a_slice("n1", [has("d0", numa=1)]),
        a_slice("n2", ["d0"]),
        a_slice("n3", [has("d0", numa=1)]),
    )


def test_row_51_a_selector_that_fails_on_a_node_leaves_the_others() -> None:
    lab = numa_lab()
    for name in ("c1", "c2"):
        lab.allocate(a_claim(name, a_request(select=NUMA)))
    assert {lab.nodes["c1"], lab.nodes["c2"]} == {"n1", "n3"}


def test_row_51_the_reasons_name_what_the_selector_missed() -> None:
    lab = numa_lab(a_claim("c1", a_request(select=NUMA)), a_claim("c2", a_request(select=NUMA)))
    lab.allocate()
    lab.allocate(a_claim("c3", a_request(select=NUMA)))
    ((kind, detail),) = [why for why in lab.reasons("c3") if why[0] is not ReasonKind.IN_USE]
    assert kind is ReasonKind.SELECTOR_ERROR
    assert "numa" in detail


def test_row_52_a_costly_selector_is_refused_at_the_door() -> None:
    with pytest.raises(BadManifestError, match="exceeds cost limit"):
        Lab(a_class(), a_claim("costly", a_request(select=costly_selector())))


def test_row_52_a_costly_selector_behind_the_door_is_stopped_and_delays_nobody() -> None:
    story = cluster.Story().tell(
        cluster.a_class(),
        cluster.a_node("n1"),
        cluster.a_pool("n1", ["d0"]),
        cluster.a_claim("costly", cluster.a_request("r", 1, costly_selector())),
        cluster.a_pod("costly-pod", "costly"),
        cluster.a_claim("plain"),
        cluster.a_pod("plain-pod", "plain"),
    )
    started = time.process_time()
    facts = story.decide()
    assert time.process_time() - started < 1
    assert "cost" in str(cluster.refused(facts)["costly-pod"].reasons)
    assert cluster.given(facts)["plain"] == ["d0"]


def costly_selector() -> str:
    """Four loops of a hundred turns, one inside the other."""
    numbers = "[" + ",".join(str(number) for number in range(100)) + "]"
    costly = "true"
    for name in "abcd":
        costly = f"{numbers}.all({name}, {costly})"
    return costly


def test_row_53_all_is_exactly_the_class_and_never_nothing() -> None:
    lab = Lab(
        a_class("g", f'device.attributes["{DRIVER}"].kind == "g"'),
        a_node("n1"),
        a_node("n3"),
        a_slice("n1", [has("a", kind="g"), has("b", kind="g"), has("x", kind="h")]),
    )
    claim = a_claim("c1", {"name": "r", "exactly": everything(of="g")})
    pod = a_pod("p3", "c1", nodeSelector={"name": "n3"})
    lab.apply({**a_node("n3"), "metadata": {"name": "n3", "labels": {"name": "n3"}}})
    lab.allocate(claim, pod)
    assert lab.refusal("c1").refusal is Refusal.UNSATISFIABLE
    lab.delete(pod)
    lab.allocate()
    assert (lab.nodes["c1"], lab.devices("c1")) == ("n1", ["a", "b"])


def test_row_54_a_half_published_pool_stops_its_own_node_alone() -> None:
    lab = Lab(a_class(), a_slice("n1", ["d0"]), a_slice("n2", ["d0"], part=(1, 2)))
    every = {"name": "r", "exactly": everything()}
    lab.allocate(a_claim("c1", every))
    assert lab.nodes["c1"] == "n1"
    lab.allocate(a_claim("c2", every))
    assert lab.kinds("c2") == {ReasonKind.IN_USE: 1, ReasonKind.POOL_INCOMPLETE: 1}


def test_row_55_nothing_is_given_from_an_old_or_half_edition() -> None:
    big = a_claim("c1", a_request(select=at_least(90)))
    lab = Lab(a_class(), a_slice("n1", [holds("d0", 100)]))
    lab.apply(a_slice("n1", [holds("d0", 80)], generation=2, part=(1, 2)))
    lab.allocate(big)
    assert lab.kinds("c1") == {ReasonKind.POOL_INCOMPLETE: 1}
    lab.allocate(a_slice("n1", [holds("d1", 96)], generation=2, part=(2, 2)))
    assert lab.devices("c1") == ["d1"]


def test_row_56_all_that_cannot_be_had_lets_the_next_alternative_try() -> None:
    lab = Lab(
        a_class(),
        a_class("big", at_least(80)),
        a_class("small", f"!({at_least(80)})"),
        a_slice("n1", [holds("big0", 80), holds("small0", 10)]),
    )
    lab.allocate(a_claim("held", a_request(of="big")))
    choice = first_of(all_big=everything(of="big"), one_small=wanted(of="small"))
    lab.allocate(a_claim("c1", choice))
    assert [(one.request, one.device) for one in lab.results("c1")] == [("r/one-small", "small0")]


def test_row_57_a_pod_joins_a_network_device_and_gets_one_of_its_node() -> None:
    lab = Lab(
        a_class(),
        a_class("net", 'device.driver == "net.lab.example"'),
        a_node("n1"),
        a_node("n2"),
        a_slice("net", ["e0"], driver="net.lab.example", allNodes=True),
        a_slice("n2", ["d0"]),
    )
    lab.allocate(a_claim("c1", a_request(of="net")), a_pod("first", "c1"))
    said = lab.allocate(a_claim("c2"), a_pod("second", "c1", "c2"))
    assert lab.nodes["second"] == "n2"
    assert lab.devices("c2") == ["d0"]
    assert [[ref.name for ref in fact.shared] for fact in said if isinstance(fact, ClaimAllocated)] == [["c1"]]  # fmt: skip


def test_row_59_a_slice_of_devices_with_nodes_of_their_own_is_used() -> None:
    devices = [a_device("d1", nodeName="n1"), a_device("d2", nodeName="n2")]
    piece = a_slice("p", devices, perDeviceNodeSelection=True)
    lab = Lab(a_class(), a_node("n2"), piece)
    lab.allocate(a_claim("c1"))
    assert (lab.nodes["c1"], lab.devices("c1")) == ("n2", ["d2"])


def test_row_59_an_invented_field_is_named_once_and_the_slice_is_used() -> None:
    invented = {"shininess": 7}
    piece = a_slice("n1", [{"name": "d0", **invented}, {"name": "d1", **invented}])
    objects = (a_class(), piece, a_claim("c1", a_request(count=2)))
    reading = read([Document("a.yaml", 1, one) for one in objects], lenient=True)
    assert reading.left_out == ('unknown field "spec.devices.shininess" of ResourceSlice',)
    rehearsal = Rehearsal()
    rehearsal.show(*complete(one.object for one in reading.manifests))
    (said,) = rehearsal.decide()
    assert isinstance(said, ClaimAllocated)


def test_row_60_a_pod_uses_the_claim_that_it_names_not_its_word_for_it() -> None:
    refs = {"resourceClaims": [{"name": "a", "resourceClaimName": "b"}]}
    pod = an_object("Pod", "p1", "ns1", spec=refs)
    lab = Lab(a_class(), a_slice("n1", ["d0"]), a_claim("a", a_request(count=9)), a_claim("b"))
    (placed,) = (f for f in lab.allocate(pod) if isinstance(f, ClaimAllocated))
    assert [one.claim.name for one in placed.claims] == ["b"]
