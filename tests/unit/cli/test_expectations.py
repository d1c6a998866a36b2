"""The demo's own judgement: right environments pass, each wrong one is found."""

from typing import Any

import pytest

from dra_cli.demo.environment import driver_lines, parse
from dra_cli.demo.expectations import EXAMPLES, findings

UID = "698048ce-9b68-49dd-b5f6-1b7871ba07fa"
GPUS = 4


def an_environment(*numbers: int, **changes: str) -> dict[str, str]:
    """What a container prints that has these GPUs, time-sliced, on worker-0."""
    env = {
        "DRA_ADMIN_ACCESS": "false",
        "DRA_RESOURCE_DRIVER_NAME": "gpu.example.com",
        "KUBERNETES_NODE_NAME": "worker-0",
    }
    for number in numbers:
        env |= {
            f"GPU_DEVICE_{number}": f"gpu-{number}",
            f"GPU_DEVICE_{number}_SHARING_STRATEGY": "TimeSlicing",
            f"GPU_DEVICE_{number}_TIMESLICE_INTERVAL": "Default",
            f"GPU_DEVICE_GPU_{number}_RESOURCE_CLAIM": UID,
        }
    return env | changes


def a_cluster(**changes: dict[str, str]) -> dict[str, Any]:
    """Examples 1 and 7 as they should be, with some pods of example 1 replaced."""
    pods = {"pod0": an_environment(0), "pod1": an_environment(1), **changes}
    admin = an_environment(*range(GPUS), DRA_ADMIN_ACCESS="true")
    return {
        **{f"basic-resourceclaimtemplate/{pod}/ctr0": env for pod, env in pods.items()},
        "admin-access/pod0/ctr0": admin,
    }


def test_what_is_as_it_should_be_has_no_findings() -> None:
    assert list(findings(a_cluster(), GPUS)) == []


@pytest.mark.parametrize(
    ("env", "found"),
    [
        (an_environment(0), "both have gpu-0 of worker-0"),
        (an_environment(1, 2), "sees 2 GPUs, not 1"),
        (an_environment(), "sees 0 GPUs, not 1"),
        (an_environment(1, GPU_DEVICE_1_TIMESLICE_INTERVAL="Long"), "TimeSlicing/Long, not"),
        (an_environment(1, DRA_ADMIN_ACCESS="true"), "has admin access True, not False"),
        (an_environment(1, DRA_RESOURCE_DRIVER_NAME="x"), "DRIVER_NAME is not gpu.example.com"),
        (an_environment(1, KUBERNETES_NODE_NAME=""), "NODE_NAME is not set"),
        (an_environment(1, GPU_DEVICE_GPU_1_RESOURCE_CLAIM="pod1"), "names the claim's uid"),
    ],
)
def test_each_deviation_is_found(env: dict[str, str], found: str) -> None:
    assert any(found in finding for finding in findings(a_cluster(pod1=env), GPUS))


def test_containers_of_one_claim_must_see_the_same() -> None:
    pod = "basic-shared-claim-across-containers/pod0"
    containers = {f"{pod}/ctr0": an_environment(0), f"{pod}/ctr1": an_environment(1)}
    assert f"{pod}/ctr1 does not see what {pod}/ctr0 sees" in findings(containers, GPUS)


def test_a_container_that_printed_nothing_is_missed() -> None:
    containers = {"initcontainer-shared-gpu/pod0/ctr0": an_environment(0)}
    assert list(findings(containers, GPUS)) == [
        "initcontainer-shared-gpu/pod0/init0 has printed nothing"
    ]


def test_only_what_the_driver_set_is_shown() -> None:
    log = 'declare -x HOME="/root"\ndeclare -x GPU_DEVICE_0="gpu-0"\n# device node /dev/null\n'
    assert list(driver_lines(log)) == ['declare -x GPU_DEVICE_0="gpu-0"']
    assert parse(log) == {"HOME": "/root", "GPU_DEVICE_0": "gpu-0"}


def test_all_examples_have_expectations() -> None:
    assert len(EXAMPLES) == 8
