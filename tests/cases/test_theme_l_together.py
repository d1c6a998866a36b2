"""Theme L, what belongs together is placed together: rows 123 and 125. Groups: test_theme_l_groups."""

from lab import Lab, Object, a_claim, a_class, a_device, a_request, a_slice

from dra_shared.events.allocations import ReasonKind

ROOT = "resource.kubernetes.io/pcieRoot"


def on(name: str, root: str) -> Object:
    return a_device(name, attributes={ROOT: root})


def test_row_123_a_gpu_and_a_nic_come_from_one_root_whoever_drives_them() -> None:
    lab = Lab(
        *(a_class(each, f'device.driver == "{each}.lab.example"') for each in ("gpu", "nic")),
        a_slice("n1", [on("gpu0", "A"), on("gpu1", "B")], driver="gpu.lab.example"),
        a_slice("n1", [on("nic-a", "A"), on("nic-b", "B")], driver="nic.lab.example"),
    )
    on_a = 'device.attributes["resource.kubernetes.io"].pcieRoot == "A"'
    lab.allocate(a_claim("busy", a_request(of="nic", select=on_a)))
    pair = (a_request("gpu", of="gpu"), a_request("nic", of="nic"))
    lab.allocate(a_claim("c1", *pair, match=ROOT))
    assert lab.devices("c1") == ["gpu1", "nic-b"]
    lab.delete(a_claim("c1"))
    lab.allocate(a_claim("gpu1", a_request(of="gpu", select=on_a.replace('"A"', '"B"'))))
    lab.allocate(a_claim("c2", *pair, match=ROOT))
    assert lab.reasons("c2")[ReasonKind.CONSTRAINT, ROOT] == 2


def test_row_125_a_small_claim_goes_where_little_is_left() -> None:
    lab = Lab(a_class(), a_slice("n1", ["d0", "d1", "d2", "d3"]), a_slice("n2", ["d0"]))
    lab.allocate(a_claim("c1"))
    lab.allocate(a_claim("c2", a_request(count=4)))
    assert (lab.nodes["c1"], lab.nodes["c2"]) == ("n2", "n1")
