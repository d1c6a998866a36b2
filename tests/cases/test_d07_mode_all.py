"""Case D7: `All` means every matching device of the node, at least one, from complete pools."""

from lab import Lab, a_claim, a_class, a_device, a_node, a_slice, everything, first_of, wanted

from dra_shared.events.allocations import ReasonKind

ALL_OF_G = {"name": "r", "exactly": everything(of="g")}


def kind(name: str, of: str) -> dict[str, object]:
    return a_device(name, attributes={"kind": of})


def a_lab() -> Lab:
    """n1 is complete with a and b of class g, x of class h; half of n2 is there; n3 has nothing."""
    return Lab(
        *(a_class(each, f'device.attributes["dev.lab.example"].kind == "{each}"') for each in "gh"),
        *(a_node(name) for name in ("n1", "n2", "n3")),
        a_slice("n1", [kind("a", "g"), kind("b", "g"), kind("x", "h")]),
        a_slice("n2", [kind("e", "g")], part=(1, 2)),
    )


def test_all_gets_every_device_of_the_class_and_none_of_another() -> None:
    lab = a_lab()
    lab.allocate(a_claim("c1", ALL_OF_G))
    assert (lab.nodes["c1"], lab.devices("c1")) == ("n1", ["a", "b"])


def test_all_waits_for_every_device_and_says_why_node_by_node() -> None:
    lab = a_lab()
    lab.allocate(a_claim("one", {"name": "r", "exactly": wanted(of="g")}))
    lab.allocate(a_claim("c2", ALL_OF_G))
    assert lab.kinds("c2") == {
        ReasonKind.IN_USE: 1,
        ReasonKind.NOT_ENOUGH: 1,
        ReasonKind.SELECTOR_FALSE: 1,
        ReasonKind.POOL_INCOMPLETE: 1,
        ReasonKind.NO_DEVICES: 0,
    }
    lab.allocate(a_slice("n2", [kind("f", "g")], part=(2, 2)))
    assert (lab.nodes["c2"], lab.devices("c2")) == ("n2", ["e", "f"])


def test_the_next_alternative_is_taken_where_all_cannot_be_had() -> None:
    lab = a_lab()
    lab.allocate(a_claim("one", {"name": "r", "exactly": wanted(of="g")}))
    lab.allocate(a_claim("c3", first_of(first=everything(of="g"), second=wanted(of="h"))))
    assert [(one.request, one.device) for one in lab.results("c3")] == [("r/second", "x")]
