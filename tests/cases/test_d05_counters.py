"""Case D5: counters belong to one pool of one driver, and are given back when a device is not taken."""

import pytest
from lab import Lab, Object, a_claim, a_class, a_part, a_pool_of_parts, a_request

from dra_shared.events.allocations import ReasonKind

TAINT = {"key": "broken", "effect": "NoSchedule"}


def a_pool(driver: str, amount: int, device: str) -> tuple[Object, Object]:
    part = a_part(device, "k", amount)
    return a_pool_of_parts("n1", "k", amount, part, driver=driver, pool="p")


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_two_drivers_may_have_a_pool_of_one_name(order: tuple[str, str]) -> None:
    lab = Lab(
        *(a_class(each, f'device.driver == "drv-{each}"') for each in "ab"),
        *a_pool("drv-a", 40, "a0"),
        *a_pool("drv-b", 10, "b0"),
    )
    for each in order:
        lab.allocate(a_claim(f"c{each}", a_request(of=each)))
    assert (lab.devices("ca"), lab.devices("cb")) == (["a0"], ["b0"])


def test_a_device_that_is_passed_over_takes_no_counters() -> None:
    parts = a_part("q0", "mem", 40, taints=[TAINT]), a_part("q1", "mem", 40)
    lab = Lab(a_class(), *a_pool_of_parts("n1", "mem", 40, *parts))
    lab.allocate(a_claim("c1"))
    assert lab.devices("c1") == ["q1"]


def test_a_share_pays_counters_that_are_still_paid_after_a_restart() -> None:
    parts = a_part("s0", "k", 1, allowMultipleAllocations=True), a_part("x0", "k", 1)
    lab = Lab(a_class(), *a_pool_of_parts("n1", "k", 1, *parts))
    lab.allocate(a_claim("c1", a_request(select="device.allowMultipleAllocations")))
    lab.restart()
    lab.allocate(a_claim("c2", a_request(select="!device.allowMultipleAllocations")))
    assert lab.devices("c1") == ["s0"]
    assert lab.reasons("c2")[ReasonKind.COUNTERS, "k/k used by s0"] == 1
