"""Configuration: decoded strictly, class before claim, the last that matches wins."""

from typing import Any

import pytest
from node_facts import NET, a_config, gpu_config
from unit.node_agent.builders import a_driver

from dra_node_agent.core.configs import ResolvedConfig, config_for, decode_configs
from dra_node_agent.core.profiles.gpu import GpuConfig, Interval, Strategy
from dra_node_agent.core.record import Refused
from dra_shared.kube.claims import DeviceAllocationConfiguration

KINDS = a_driver().profile.kinds


def a_slicing(interval: str) -> dict[str, Any]:
    return gpu_config(strategy="TimeSlicing", timeSlicingConfig={"interval": interval})


def decoded(*entries: DeviceAllocationConfiguration) -> tuple[ResolvedConfig, ...]:
    configs = decode_configs("gpu.example.com", KINDS, entries)
    assert not isinstance(configs, Refused), configs
    return configs


def interval_for(request: str, *entries: DeviceAllocationConfiguration) -> Interval | None:
    config = config_for(request, decoded(*entries))
    if config is None:
        return None
    assert isinstance(config, GpuConfig)
    assert config.sharing.time_slicing_config
    return config.sharing.time_slicing_config.interval


def refusal(parameters: dict[str, Any] | None, profile: str = "gpu") -> Refused:
    driver = a_driver(profile)
    entry = a_config(parameters, driver=driver.name)
    refused = decode_configs(driver.name, driver.profile.kinds, [entry])
    assert isinstance(refused, Refused)
    assert refused.permanent
    return refused


def test_the_claim_goes_over_its_class_wherever_it_stands_in_the_list() -> None:
    of_claim = a_config(a_slicing("Long"))
    of_class = a_config(a_slicing("Short"), source="FromClass")
    assert interval_for("r", of_claim, of_class) == "Long"
    assert interval_for("r", of_class, of_claim) == "Long"


def test_the_last_match_of_one_source_wins() -> None:
    entries = [a_config(a_slicing(value), "r") for value in ("Short", "Medium", "Long")]
    assert interval_for("r", *entries) == "Long"


def test_configuration_of_the_parent_request_is_for_its_alternatives_too() -> None:
    entry = a_config(a_slicing("Long"), "gpu")
    assert interval_for("gpu/small", entry) == "Long"
    assert interval_for("gpu", entry) == "Long"
    assert interval_for("gpus", entry) is None


def test_configuration_of_one_alternative_is_for_no_other() -> None:
    entry = a_config(a_slicing("Long"), "gpu/small")
    assert interval_for("gpu/small", entry) == "Long"
    assert interval_for("gpu/big", entry) is None


def test_configuration_of_other_drivers_is_left_alone() -> None:
    assert decoded(a_config({"anything": 1}, driver=NET, source="FromTheMoon")) == ()


@pytest.mark.parametrize(
    ("sharing", "named"),
    [
        ({"strategy": "TimeSlicing", "dir": "../x"}, "dir"),
        ({"strategy": "Fair"}, "Fair"),
        ({}, "strategy"),
        ({"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Eternal"}}, "Eternal"),
        ({"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": 3}}, "interval"),
        (
            {"strategy": "SpacePartitioning", "spacePartitioningConfig": {"partitionCount": -1}},
            "partitionCount",
        ),
        ({"strategy": "TimeSlicing", "spacePartitioningConfig": {}}, "spacePartitioningConfig"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_named(sharing: dict[str, Any], named: str) -> None:
    assert named in refusal(gpu_config(**sharing)).cause


def test_unknown_kinds_are_refused_with_those_that_are_known() -> None:
    cause = refusal({"apiVersion": "gpu.resource.example.com/v1alpha1", "kind": "NpuConfig"}).cause
    assert "NpuConfig" in cause
    assert "GpuConfig" in cause
    assert "../x" not in refusal({"dir": "../x"}).cause
    assert "no configuration at all" in refusal(gpu_config(strategy="TimeSlicing"), "cpu").cause


def test_entries_without_parameters_or_of_an_unknown_source_are_refused() -> None:
    bare = DeviceAllocationConfiguration(source="FromClaim")
    odd = a_config(a_slicing("Long"), source="FromTheMoon")
    for entry, named in ((bare, "no opaque parameters"), (odd, "FromTheMoon")):
        refused = decode_configs("gpu.example.com", KINDS, [entry])
        assert isinstance(refused, Refused)
        assert named in refused.cause


def test_a_configuration_without_blocks_means_the_defaults() -> None:
    (only,) = decoded(
        a_config({"apiVersion": "gpu.resource.example.com/v1alpha1", "kind": "GpuConfig"})
    )
    assert isinstance(only.config, GpuConfig)
    assert only.config.sharing.strategy is Strategy.TIME_SLICING


@pytest.mark.parametrize("burst", ["5G", "nonsense", -1, "40G"])
def test_bursts_must_be_quantities_below_four_gigabytes(burst: str | int) -> None:
    parameters = {
        "apiVersion": "net.resource.example.com/v1alpha1",
        "kind": "NetConfig",
        "bwBurst": {"ingressBurst": burst},
    }
    driver = a_driver("net")
    entry = a_config(parameters, driver=driver.name)
    configs = decode_configs(driver.name, driver.profile.kinds, [entry])
    assert isinstance(configs, Refused) is (burst != "5G")
