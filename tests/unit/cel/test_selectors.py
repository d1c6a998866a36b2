"""Selectors as people publish them: each says yes to the device it means and no to another."""

import pytest
from unit.cel.devices import STORED, a_device

from kube_cel import EvaluationError, NoSuchKeyError, NotBooleanError

PUBLISHED = [
    (
        "device.driver == 'd' && device.attributes['d'].type == 'gpu'",
        {"type": {"string": "gpu"}},
        {},
    ),
    ("device.attributes['d'].type == 'mig'", {"type": {"string": "mig"}}, {}),
    ("device.attributes['d'].type == 'vfio'", {"type": {"string": "vfio"}}, {}),
    (
        (
            "device.driver == 'd' && device.attributes['d'].type == 'channel' "
            "&& device.attributes['d'].id == 0"
        ),
        {"type": {"string": "channel"}, "id": {"int": 0}},
        {},
    ),
    ("device.attributes['d'].profile == '1g.5gb'", {"profile": {"string": "1g.5gb"}}, {}),
    (
        "device.attributes['d'].productName.lowerAscii().matches('^.*a100.*$')",
        {"productName": {"string": "NVIDIA A100-SXM4"}},
        {},
    ),
    (
        'device.capacity["d"].memory.isGreaterThan(quantity("40Gi"))',
        {},
        {"memory": {"value": "80Gi"}},
    ),
    (
        'device.capacity["d"].multiprocessors.isLessThan(quantity("30"))',
        {},
        {"multiprocessors": {"value": "14"}},
    ),
    (
        'device.attributes["d"].driverVersion.compareTo(semver("550.0.0")) >= 0',
        {"driverVersion": {"version": "550.54.15"}},
        {},
    ),
    (
        "(device.attributes['d'].index == 0 || device.attributes['d'].index == 2)",
        {"index": {"int": 2}},
        {},
    ),
    ("device.attributes['d'].architecture == 'Hopper'", {"architecture": {"string": "Hopper"}}, {}),
    ("device.attributes['d'].model == 'LATEST'", {"model": {"string": "LATEST"}}, {}),
    (
        "device.capacity['d'].memory.compareTo(quantity('4Gi')) >= 0",
        {},
        {"memory": {"value": "4Gi"}},
    ),
    ('device.attributes["d"].rdma == true', {"rdma": {"bool": True}}, {}),
    (
        'has(device.attributes["d"].ifName) && device.attributes["d"].ifName == "rdma0"',
        {"ifName": {"string": "rdma0"}},
        {},
    ),
    (
        'device.attributes["d"].rdma == true && device.attributes["d"].ipv4.startsWith("10.0.0.")',
        {"rdma": {"bool": True}, "ipv4": {"string": "10.0.0.7"}},
        {},
    ),
    ('device.attributes["d"].numaNode == 0', {"numaNode": {"int": 0}}, {}),
    (
        'device.attributes["d"].?isSriovVf.orValue(false) == true',
        {"isSriovVf": {"bool": True}},
        {},
    ),
    (
        'device.attributes["d"].uuid in ["68496E64-1", "68496E64-2"]',
        {"uuid": {"string": "68496E64-2"}},
        {},
    ),
    (
        'device.attributes["d"].resourceName == "intel_nic"',
        {"resourceName": {"string": "intel_nic"}},
        {},
    ),
    ('device.attributes["d"].podNetwork == "foo"', {"podNetwork": {"string": "foo"}}, {}),
    (
        'device.attributes["resource.kubernetes.io"]["pciBusID"] == "0008:06:00.0"',
        {"resource.kubernetes.io/pciBusID": {"string": "0008:06:00.0"}},
        {},
    ),
    ('device.capacity["d"].tpus == quantity("8")', {}, {"tpus": {"value": "8"}}),
    (
        (
            'device.attributes["d"].driverVersion.major() >= 1 && '
            'device.capacity["d"].memory.isGreaterThan(quantity("1Mi"))'
        ),
        {"driverVersion": {"version": "1.0.0"}},
        {"memory": {"value": "2Mi"}},
    ),
]


@pytest.mark.parametrize(("text", "attributes", "capacity"), PUBLISHED)
def test_a_published_selector_takes_the_device_it_means(
    text: str, attributes: dict[str, dict[str, object]], capacity: dict[str, dict[str, str]]
) -> None:
    assert STORED.compile(text).matches(a_device("d", attributes, capacity)) is True


def test_a_flag_that_is_not_set_reads_as_false() -> None:
    program = STORED.compile("device.allowMultipleAllocations == true")
    assert program.matches(a_device(shareable=True)) is True
    assert program.matches(a_device(shareable=None)) is False


def test_a_selector_for_another_driver_says_no_before_it_misses_an_attribute() -> None:
    text = "device.driver == 'other' && device.attributes['other'].model == 'H100'"
    assert STORED.compile(text).matches(a_device()) is False


def test_an_attribute_of_an_unknown_domain_is_a_missing_key() -> None:
    program = STORED.compile('device.attributes["dra.net/ipv4"].address.startsWith("10.")')
    with pytest.raises(NoSuchKeyError) as caught:
        program.matches(a_device())
    assert caught.value.key == "address"


def test_a_missing_attribute_names_its_key_and_carries_the_cost() -> None:
    program = STORED.compile('device.attributes["gpu.example.com"].productName == "A100"')
    with pytest.raises(NoSuchKeyError, match="productName") as caught:
        program.matches(a_device())
    assert caught.value.cost == 5


def test_an_attribute_that_is_no_boolean_is_no_answer() -> None:
    program = STORED.compile('device.attributes["gpu.example.com"].model')
    with pytest.raises(NotBooleanError, match="string"):
        program.matches(a_device())


def test_a_device_with_an_unreadable_version_fails_before_any_selector() -> None:
    with pytest.raises(EvaluationError, match="attribute version: parse semantic version"):
        a_device(attributes={"version": {"version": "1.2"}})


def test_names_without_a_domain_go_under_the_drivers() -> None:
    device = a_device(attributes={"a": {"int": 1}, "other.io/b": {"int": 2}}, capacity={})
    assert device.attributes == {"gpu.example.com/a": 1, "other.io/b": 2}
    assert device.fields["attributes"] == {"gpu.example.com": {"a": 1}, "other.io": {"b": 2}}
