"""`dra demo` end to end, as a user runs it: what examples 1 to 6 print, and what is left behind."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.cli.local import a_short_folder, dra, processes_of

pytestmark = pytest.mark.timeout(180)

Printed = dict[str, dict[str, str]]
"""A container's environment by `namespace/pod/container`."""

UID = re.compile(r"[0-9a-f-]{36}")


@pytest.fixture(scope="module")
def shown() -> Iterator[str]:
    """What the demo printed, once it has ended well."""
    with a_short_folder() as folder:
        result = dra(folder, "demo")
        assert result.returncode == 0, result.stderr
        assert list(folder.iterdir()) == [], "files are left behind"
        assert processes_of(folder) == [], "processes are left behind"
        yield result.stdout


@pytest.fixture(scope="module")
def printed(shown: str) -> Printed:
    """The environment that each container printed."""
    found: Printed = {}
    blocks = re.findall(
        r"^kubectl logs -n (\S+) (\S+) -c (\S+)\n((?:declare .*\n)+)", shown, re.MULTILINE
    )
    for namespace, pod, container, lines in blocks:
        variables = dict(re.findall(r'^declare -x (\w+)="(.*)"$', lines, re.MULTILINE))
        found[f"{namespace}/{pod}/{container}"] = variables
    return found


def gpus(env: dict[str, str]) -> list[str]:
    """The GPUs that an environment names."""
    return sorted(value for name, value in env.items() if re.fullmatch(r"GPU_DEVICE_\d+", name))


def held(env: dict[str, str]) -> set[tuple[str, str]]:
    """The GPUs with their node."""
    return {(env["KUBERNETES_NODE_NAME"], gpu) for gpu in gpus(env)}


def expected(env: dict[str, str], strategy: str, setting: str, value: str) -> dict[str, str]:
    """All that a container with these GPUs must print, no more and no less."""
    whole = {
        "DRA_ADMIN_ACCESS": "false",
        "DRA_RESOURCE_DRIVER_NAME": "gpu.example.com",
        "KUBERNETES_NODE_NAME": env["KUBERNETES_NODE_NAME"],
    }
    for gpu in gpus(env):
        number = gpu.removeprefix("gpu-")
        claim = f"GPU_DEVICE_GPU_{number}_RESOURCE_CLAIM"
        assert UID.fullmatch(env[claim])
        whole |= {
            f"GPU_DEVICE_{number}": gpu,
            f"GPU_DEVICE_{number}_SHARING_STRATEGY": strategy,
            f"GPU_DEVICE_{number}_{setting}": value,
            claim: env[claim],
        }
    return whole


def assert_time_sliced(env: dict[str, str], count: int, interval: str = "Default") -> None:
    """The container sees so many GPUs, time-sliced, and nothing else."""
    assert len(gpus(env)) == count
    assert env == expected(env, "TimeSlicing", "TIMESLICE_INTERVAL", interval)


def test_example_1_gives_each_pod_a_gpu_of_its_own(printed: Printed) -> None:
    pods = [printed[f"basic-resourceclaimtemplate/{pod}/ctr0"] for pod in ("pod0", "pod1")]
    for env in pods:
        assert_time_sliced(env, 1)
    assert held(pods[0]).isdisjoint(held(pods[1]))


def test_example_2_gives_one_container_two_gpus(printed: Printed) -> None:
    assert_time_sliced(printed["basic-multiple-requests/pod0/ctr0"], 2)


def test_example_3_gives_two_containers_the_same_gpu(printed: Printed) -> None:
    pod = "basic-shared-claim-across-containers/pod0"
    assert_time_sliced(printed[f"{pod}/ctr0"], 1)
    assert printed[f"{pod}/ctr0"] == printed[f"{pod}/ctr1"]


def test_example_4_gives_two_pods_the_same_gpu(printed: Printed, shown: str) -> None:
    namespace = "basic-shared-claim-across-pods"
    assert_time_sliced(printed[f"{namespace}/pod0/ctr0"], 1)
    assert printed[f"{namespace}/pod0/ctr0"] == printed[f"{namespace}/pod1/ctr0"]
    assert re.search(
        rf"{namespace} +single-gpu +allocated,reserved .* pod0, pod1 *$", shown, re.MULTILINE
    )


def test_example_5_configures_each_request_in_its_own_way(printed: Printed) -> None:
    pod = "basic-resourceclaim-opaque-config/pod0"
    sliced, partitioned = printed[f"{pod}/ts-ctr0"], printed[f"{pod}/sp-ctr0"]
    assert_time_sliced(sliced, 1, "Long")
    assert len(gpus(partitioned)) == 1
    assert partitioned == expected(partitioned, "SpacePartitioning", "PARTITION_COUNT", "10")
    assert held(sliced).isdisjoint(held(partitioned))
    assert printed[f"{pod}/ts-ctr1"] == sliced
    assert printed[f"{pod}/sp-ctr1"] == partitioned


def test_example_6_gives_the_init_container_the_same_gpu(printed: Printed) -> None:
    pod = "initcontainer-shared-gpu/pod0"
    assert_time_sliced(printed[f"{pod}/init0"], 1)
    assert printed[f"{pod}/init0"] == printed[f"{pod}/ctr0"]


def test_no_gpu_belongs_to_two_claims(printed: Printed) -> None:
    claims: dict[tuple[str, str], set[str]] = {}
    for env in printed.values():
        for node, gpu in held(env):
            number = gpu.removeprefix("gpu-")
            uid = env[f"GPU_DEVICE_GPU_{number}_RESOURCE_CLAIM"]
            claims.setdefault((node, gpu), set()).add(uid)
    assert len(claims) == 9
    assert all(len(uids) == 1 for uids in claims.values())


def test_two_nodes_offer_eight_gpus_each_and_seven_claims_are_reserved(shown: str) -> None:
    slices = re.findall(
        r"^\S+ +(worker-\d) +gpu\.example\.com +(worker-\d) +8 *$", shown, re.MULTILINE
    )
    assert slices == [("worker-0", "worker-0"), ("worker-1", "worker-1")]
    assert len(re.findall(r" allocated,reserved ", shown)) == 7


def test_the_life_of_a_claim_is_told_and_the_log_verifies(shown: str) -> None:
    life = shown.partition("dra events --claim")[2]
    tags = re.findall(r"^ +\d+  \S+  (\S+) ", life, re.MULTILINE)
    assert (tags[0], tags[-1]) == ("claim.requested.v1", "claim.prepared.v1")
    assert Counter(tags[1:-1]) == {
        "pod.requested.v1": 2,
        "claim.allocated.v1": 2,
        "allocation.written.v1": 1,
        "pod.ungated.v1": 2,
    }
    assert "no device given twice, every decision derived again" in shown
    assert "13 containers: each saw the GPUs it should, and no other" in shown


def test_wrong_examples_are_refused_before_anything_starts(tmp_path: Path) -> None:
    result = dra(tmp_path, "demo", "--examples", str(tmp_path))
    assert result.returncode == 2
    assert "does not hold the examples" in result.stderr
