"""A plan is worked out whole, from the driver's own results alone, or refused with a reason."""

import pytest
from node_facts import NET, a_config, a_result, an_allocation
from unit.node_agent.builders import a_driver, an_inventory

from dra_node_agent.core.plan import plan, same_devices
from dra_node_agent.core.record import PlannedDevice, Refused
from dra_shared.kube.claims import AllocationResult


def planned(allocation: AllocationResult, uid: str = "u1") -> tuple[PlannedDevice, ...]:
    devices = plan(uid, allocation, a_driver(), an_inventory("gpu-0", "gpu-1"))
    assert not isinstance(devices, Refused), devices
    return devices


def refusal(allocation: AllocationResult, uid: str = "u1") -> Refused:
    refused = plan(uid, allocation, a_driver(), an_inventory("gpu-0", "gpu-1"))
    assert isinstance(refused, Refused)
    return refused


def test_devices_keep_the_order_of_the_allocation_and_the_identity_of_the_inventory() -> None:
    devices = planned(an_allocation(a_result("gpu-1", "b"), a_result("gpu-0", "a")))
    assert [(d.device, d.identity) for d in devices] == [("gpu-1", "S-gpu-1"), ("gpu-0", "S-gpu-0")]


def test_results_of_other_drivers_are_left_alone() -> None:
    allocation = an_allocation(a_result("nic-7", driver=NET), a_result("gpu-0"))
    assert [device.device for device in planned(allocation)] == ["gpu-0"]


def test_containers_know_the_request_without_the_chosen_alternative() -> None:
    (device,) = planned(an_allocation(a_result("gpu-0", "gpu/small")))
    assert device.requests == ("gpu",)


def test_a_device_for_two_admin_requests_is_one_device_with_two_requests() -> None:
    results = (a_result("gpu-0", name, admin_access=True) for name in ("a", "b"))
    (device,) = planned(an_allocation(*results))
    assert device.requests == ("a", "b")
    assert device.admin


def test_a_device_that_is_not_there_now_may_come_back() -> None:
    refused = refusal(an_allocation(a_result("gpu-0"), a_result("gpu-9")))
    assert not refused.permanent
    assert refused.device == "gpu-9"


def test_a_claim_without_devices_of_the_driver_is_refused_for_good() -> None:
    assert refusal(an_allocation(a_result("nic-0", driver=NET))).permanent


@pytest.mark.parametrize("uid", ["../x", "", "a/b", "-x", "x" * 200])
def test_a_uid_that_is_no_file_name_is_refused(uid: str) -> None:
    assert refusal(an_allocation(a_result("gpu-0")), uid).permanent


def test_a_bad_configuration_refuses_the_whole_claim() -> None:
    allocation = an_allocation(a_result("gpu-0"), config=[a_config({"dir": "../x"})])
    assert refusal(allocation).permanent


def test_an_allocation_is_the_same_while_devices_and_shares_are() -> None:
    allocation = an_allocation(a_result("gpu-0", share_id="s1"), a_result("nic-0", driver=NET))
    devices = planned(allocation)
    assert same_devices(devices, allocation, "gpu.example.com")
    other = an_allocation(a_result("gpu-0", share_id="s2"))
    assert not same_devices(devices, other, "gpu.example.com")
