"""Case D3: the default policy packs, and devices that belong together are given together."""

import pytest
from lab import Lab, Object, a_claim, a_class, a_device, a_request, a_slice

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


def a_cluster(policy: str) -> Lab:
    """n1 has four free devices; of the four of n2 one is free."""
    n1 = a_slice("n1", ["d0", "d1", "d2", "d3"])
    n2 = a_slice("n2", ["e0", "e1", "e2", "e3"])
    lab = Lab(a_class(), n2, a_claim("before", a_request(count=3)), policy=policy)
    lab.allocate()
    lab.apply(n1)
    return lab


def test_pack_leaves_whole_nodes_free_for_large_claims() -> None:
    lab = a_cluster("pack")
    lab.allocate(a_claim("c1"))
    lab.allocate(a_claim("c2", a_request(count=4)))
    assert (lab.nodes["c1"], lab.nodes["c2"]) == ("n2", "n1")


def test_spread_goes_where_most_is_free() -> None:
    lab = a_cluster("spread")
    lab.allocate(a_claim("c1"))
    assert lab.nodes["c1"] == "n1"


@pytest.mark.parametrize("order", [("10", "20", "80"), ("80", "20", "10")], ids=["up", "down"])
def test_pack_takes_the_smallest_device_that_will_do(order: tuple[str, ...]) -> None:
    devices = [a_device(f"g{size}", capacity={"memory": f"{size}Gi"}) for size in order]
    at_least = 'device.capacity["dev.lab.example"].memory.compareTo(quantity("{}Gi")) >= 0'.format
    lab = Lab(a_class(), a_slice("n1", devices))
    lab.allocate(a_claim("c3", a_request(select=at_least(8))))
    lab.allocate(a_claim("c4", a_request(select=at_least(70))))
    assert (lab.devices("c3"), lab.devices("c4")) == (["g10"], ["g80"])


def by_root(name: str, root: str) -> Object:
    return a_device(name, attributes={PCIE_ROOT: root})


def test_a_gpu_and_a_nic_are_taken_from_the_same_root() -> None:
    lab = Lab(
        a_class("gpu", 'device.driver == "gpu.lab.example"'),
        a_class("nic", 'device.driver == "nic.lab.example"'),
        a_slice("n1", [by_root("nic0", "A"), by_root("nic1", "B")], driver="nic.lab.example"),
        a_slice("n1", [by_root("gpu0", "A"), by_root("gpu1", "B")], driver="gpu.lab.example"),
    )
    lab.allocate(a_claim("busy", a_request(of="nic")))
    pair = (a_request("gpu", of="gpu"), a_request("nic", of="nic"))
    lab.allocate(a_claim("c5", *pair, match=PCIE_ROOT))
    assert lab.devices("busy") == ["nic0"]
    assert lab.devices("c5") == ["gpu1", "nic1"]
