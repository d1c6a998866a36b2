"""What a pod is said to need of a node: the sums that kube-scheduler makes."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_api_bridge.core.placement import offered, placement, requested
from dra_shared.kube.core import PodSpec


def a_container(cpu: str = "0", memory: str = "0", **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


def a_sidecar(cpu: str) -> dict[str, Any]:
    return a_container(cpu, restartPolicy="Always")


def cpu_of(**spec: Any) -> int:
    return requested(msgspec.convert(spec, PodSpec))[0]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, 0),
        ({"containers": [a_container("100m"), a_container("1")]}, 1100),
        ({"containers": [a_container("0.5m")]}, 1),
        ({"containers": [a_container("1")], "initContainers": [a_container("3")]}, 3000),
        ({"containers": [a_container("3")], "initContainers": [a_container("1")]}, 3000),
        ({"containers": [a_container("1")], "initContainers": [a_sidecar("2")]}, 3000),
        (
            {
                "containers": [a_container("1")],
                "initContainers": [a_sidecar("2"), a_container("3")],
            },
            5000,
        ),
        (
            {
                "containers": [a_container("1")],
                "initContainers": [a_container("3"), a_sidecar("2")],
            },
            3000,
        ),
        ({"containers": [a_container("1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [a_container("1")], "resources": {"requests": {"cpu": "4"}}}, 4000),
        (
            {
                "containers": [a_container("1")],
                "resources": {"requests": {"memory": "1Gi"}},
                "overhead": {"cpu": "1"},
            },
            2000,
        ),
    ],
    ids=[
        "no containers",
        "containers run together",
        "fractions are rounded up",
        "a large init container counts alone",
        "a small one does not",
        "a sidecar runs beside the containers",
        "and beside later init containers",
        "but not beside earlier ones",
        "overhead comes on top",
        "requests of the pod replace the sum",
        "only for the resources they name",
    ],
)
def test_cpu_is_summed_as_the_scheduler_sums_it(spec: dict[str, Any], expected: int) -> None:
    assert cpu_of(**spec) == expected


def test_memory_is_in_bytes() -> None:
    spec = msgspec.convert({"containers": [a_container(memory="1Gi")]}, PodSpec)
    assert placement(spec).memory_bytes == 2**30


def test_what_a_node_offers_is_rounded_down() -> None:
    assert offered({"cpu": "1999900u", "memory": "1500m"}) == (1999, 1)


@given(st.lists(st.integers(0, 4000)), st.lists(st.tuples(st.integers(0, 4000), st.booleans())))
def test_a_pod_never_needs_less_than_any_of_its_phases(
    containers: list[int], inits: list[tuple[int, bool]]
) -> None:
    spec = {
        "containers": [a_container(f"{cpu}m") for cpu in containers],
        "initContainers": [
            a_sidecar(f"{cpu}m") if stays else a_container(f"{cpu}m") for cpu, stays in inits
        ],
    }
    total = cpu_of(**spec)
    sidecars = sum(cpu for cpu, stays in inits if stays)
    assert total >= sum(containers) + sidecars
    assert all(total >= cpu for cpu, _ in inits)
    assert total <= sum(containers) + sum(cpu for cpu, _ in inits)


def test_selector_affinity_and_tolerations_are_kept_as_they_are() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    spec = msgspec.convert(
        {
            "nodeSelector": {"disk": "ssd"},
            "affinity": {"nodeAffinity": required},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        },
        PodSpec,
    )
    found = placement(spec)
    assert found.node_selector == {"disk": "ssd"}
    assert found.required_affinity is not None
    assert found.required_affinity.node_selector_terms[0].match_expressions is not None
    assert [each.key for each in found.tolerations] == ["gpu"]
