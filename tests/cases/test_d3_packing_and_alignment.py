"""Case D3: small claims leave room for large ones, and devices that belong together are given together."""

from cluster import (
    DRIVER,
    Story,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_pool,
    a_request,
    placed,
    refused,
)
from cluster import given as got

from dra_shared.events.allocations import ReasonKind
from dra_shared.kube.devices import Device, DeviceAttribute, DeviceCapacity


def scattered(policy: str) -> Story:
    """n1: four free equal devices; n2: one free of four."""
    story = Story(policy).tell(a_class(), a_node("n2"), a_pool("n2", ["d0", "d1", "d2", "d3"]))
    story.tell(a_claim("c0", a_request(count=3)), a_pod("p0", "c0"))
    story.decide()
    return story.tell(a_node("n1"), a_pool("n1", ["d0", "d1", "d2", "d3"]))


def test_pack_keeps_the_empty_node_for_the_large_claim() -> None:
    story = scattered("pack").tell(a_claim("c1"), a_pod("p1", "c1"))
    story.tell(a_claim("c2", a_request(count=4)), a_pod("p2", "c2"))
    assert placed(story.decide()) == {"p1": "n2", "p2": "n1"}


def test_spread_takes_the_empty_node() -> None:
    story = scattered("spread").tell(a_claim("c1"), a_pod("p1", "c1"))
    assert placed(story.decide()) == {"p1": "n1"}


def test_pack_keeps_the_large_device_for_who_needs_it() -> None:
    sizes = {"d80": "80Gi", "d10": "10Gi", "d20": "20Gi"}
    devices = [
        a_device(name, capacity={"memory": DeviceCapacity(value=size)})
        for name, size in sizes.items()
    ]
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", devices))
    for name, size in (("c3", "8Gi"), ("c4", "70Gi")):
        text = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{size}")) >= 0'
        story.tell(a_claim(name, a_request("r", 1, text)), a_pod(f"p-{name}", name))
    assert got(story.decide()) == {"c3": ["d10"], "c4": ["d80"]}


def on_root(name: str, root: str, kind: str) -> Device:
    return a_device(
        name,
        attributes={
            "resource.kubernetes.io/pcieRoot": DeviceAttribute(string=root),
            "kind": DeviceAttribute(string=kind),
        },
    )


def of_kind(kind: str) -> str:
    return f'device.attributes["{DRIVER}"].kind == "{kind}"'


def test_gpu_and_nic_come_from_the_same_root_or_not_at_all() -> None:
    devices = [
        on_root("gpu0", "A", "gpu"),
        on_root("nic0", "A", "nic"),
        on_root("gpu1", "B", "gpu"),
        on_root("nic1", "B", "nic"),
    ]
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", devices))
    story.tell(a_claim("busy", a_request("r", 1, of_kind("nic"))), a_pod("p0", "busy"))
    assert got(story.decide()) == {"busy": ["nic0"]}
    pair = (a_request("gpu", 1, of_kind("gpu")), a_request("nic", 1, of_kind("nic")))
    story.tell(a_claim("c5", *pair, match="resource.kubernetes.io/pcieRoot"), a_pod("p5", "c5"))
    assert got(story.decide()) == {"c5": ["gpu1", "nic1"]}


def test_a_pair_that_only_exists_apart_is_refused_for_its_constraint() -> None:
    devices = [on_root("gpu0", "A", "gpu"), on_root("nic1", "B", "nic")]
    story = Story().tell(a_class(), a_node("n1"), a_pool("n1", devices))
    pair = (a_request("gpu", 1, of_kind("gpu")), a_request("nic", 1, of_kind("nic")))
    story.tell(a_claim("c5", *pair, match="resource.kubernetes.io/pcieRoot"), a_pod("p5", "c5"))
    (reason,) = refused(story.decide())["p5"].reasons
    assert reason.kind is ReasonKind.CONSTRAINT
