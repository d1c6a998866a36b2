"""Case D6: shares of a device, rounded as its policy says, never more than there is."""

import pytest
from lab import Lab, Object, a_claim, a_class, a_device, a_request, a_slice, everything

from dra_shared.events.allocations import ReasonKind

POLICY = {"default": "4Gi", "validRange": {"min": "2Gi", "max": "40Gi", "step": "2Gi"}}


def a_gpu(*, multi: bool = True) -> Object:
    memory = {"value": "80Gi", "requestPolicy": POLICY}
    return a_device("g0", capacity={"memory": memory}, allowMultipleAllocations=multi)


def asking(name: str, amount: str = "") -> Object:
    capacity: Object = {"capacity": {"requests": {"memory": amount}}} if amount else {}
    return a_claim(name, a_request(**capacity))


@pytest.fixture
def lab() -> Lab:
    """All that was asked for, in this order."""
    lab = Lab(a_class(), a_slice("n1", [a_gpu()]))
    asked = {"a": "3Gi", "b": "", "c": "41Gi", "d": "40Gi", "e": "34Gi", "f": "32Gi"}
    for name, amount in asked.items():
        lab.allocate(asking(name, amount))
    return lab


def test_requests_are_rounded_and_fill_the_device_exactly(lab: Lab) -> None:
    results = [result for name in "abdf" for result in lab.results(name)]
    consumed = [result.consumed_capacity for result in results]
    assert consumed == [{"memory": size} for size in ("4Gi", "4Gi", "40Gi", "32Gi")]
    assert len({result.share_id for result in results} - {None}) == 4
    assert lab.kinds("c") == lab.kinds("e") == {ReasonKind.CAPACITY: 1}


def test_a_device_is_whole_again_when_its_last_share_is_gone(lab: Lab) -> None:
    lab.delete(asking("c"), asking("e"))
    lab.allocate(a_slice("n1", [a_gpu(multi=False)], generation=2), a_claim("whole"))
    for name in "abdf":
        assert lab.kinds("whole") == {ReasonKind.IN_USE: 1}
        lab.delete(asking(name))
        lab.allocate()
    (result,) = lab.results("whole")
    assert (result.device, result.share_id) == ("g0", None)


def test_all_is_refused_while_a_matching_device_is_full(lab: Lab) -> None:
    every = {"name": "r", "exactly": everything(capacity={"requests": {"memory": "2Gi"}})}
    lab.allocate(a_claim("all", every))
    assert lab.kinds("all") == {ReasonKind.CAPACITY: 1}
