"""Case D3, rows 123 and 125: what is free stays in one piece, and what belongs together is given so."""

import pytest
from lab import Lab, Object, a_claim, a_class, a_device, a_request, a_slice

from dra_shared.events.allocations import ReasonKind

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


def test_row_125_pack_uses_up_the_small_node_first() -> None:
    lab = Lab(a_class(), a_slice("n1", ["d0", "d1", "d2", "d3"]), a_slice("n2", ["d0"]))
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


@pytest.fixture
def two_drivers() -> Lab:
    """Two roots, each with a GPU of one driver and a NIC of another."""
    return Lab(
        *(a_class(each, f'device.driver == "{each}.lab.example"') for each in ("gpu", "nic")),
        a_slice("n1", [by_root("nic0", "A"), by_root("nic1", "B")], driver="nic.lab.example"),
        a_slice("n1", [by_root("gpu0", "A"), by_root("gpu1", "B")], driver="gpu.lab.example"),
    )


PAIR = (a_request("gpu", of="gpu"), a_request("nic", of="nic"))


def test_row_123_a_gpu_and_a_nic_come_from_one_root_whoever_drives_them(two_drivers: Lab) -> None:
    two_drivers.allocate(a_claim("busy", a_request(of="nic")))
    two_drivers.allocate(a_claim("c5", *PAIR, match=PCIE_ROOT))
    assert two_drivers.devices("busy") == ["nic0"]
    assert two_drivers.devices("c5") == ["gpu1", "nic1"]


def test_row_123_a_pair_that_only_exists_apart_is_refused_for_its_constraint(
    two_drivers: Lab,
) -> None:
    on_b = 'device.attributes["resource.kubernetes.io"].pcieRoot == "B"'
    two_drivers.allocate(a_claim("busy-nic", a_request(of="nic")))
    two_drivers.allocate(a_claim("busy-gpu", a_request(of="gpu", select=on_b)))
    two_drivers.allocate(a_claim("c5", *PAIR, match=PCIE_ROOT))
    assert two_drivers.reasons("c5")[ReasonKind.CONSTRAINT, PCIE_ROOT] == 2
