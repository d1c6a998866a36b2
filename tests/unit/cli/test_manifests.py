"""The examples in the repository: complete, explained, and what the demo expects of them."""

from pathlib import Path

import pytest

from dra_cli.demo.expectations import EXAMPLES
from dra_cli.demo.manifests import EXAMPLES as FOLDER
from dra_cli.demo.manifests import NoExamplesError, load
from dra_cli.demo.objects import containers
from dra_cli.edge.rest import path_of

NUMBERS = range(1, 9)


@pytest.mark.parametrize("number", NUMBERS)
def test_each_example_is_a_namespace_with_the_containers_that_the_demo_looks_at(
    number: int,
) -> None:
    objects = load(FOLDER, range(number, number + 1))
    (namespace,) = (o["metadata"]["name"] for o in objects if o["kind"] == "Namespace")
    assert {o["metadata"].get("namespace") for o in objects[2:]} == {namespace}
    found = {
        f"{pod['metadata']['name']}/{container}"
        for pod in objects
        if pod["kind"] == "Pod"
        for container in containers(pod)
    }
    assert found == {name for group in EXAMPLES[namespace] for name in group.containers}


@pytest.mark.parametrize("number", NUMBERS)
def test_each_example_says_what_it_shows_and_what_to_expect(number: int) -> None:
    (file,) = FOLDER.glob(f"{number:02}-*.yaml")
    header = [line for line in file.read_text().splitlines() if line.startswith("#")]
    assert header[0].endswith(".")
    assert any(line.startswith("# Expect: ") for line in header)
    assert f"| `{file.stem}` |" in (FOLDER / "README.md").read_text()


def test_every_container_prints_its_environment_on_ubuntu() -> None:
    pods = [o for o in load(FOLDER, NUMBERS) if o["kind"] == "Pod"]
    for pod in pods:
        spec = pod["spec"]
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            assert container["image"] == "ubuntu:22.04"
            assert "export" in container["command"][-1]


def test_objects_are_created_where_they_belong() -> None:
    paths = {path_of(o) for o in load(FOLDER, range(4, 5))}
    namespace = "basic-shared-claim-across-pods"
    assert paths == {
        "/apis/resource.k8s.io/v1/deviceclasses",
        "/api/v1/namespaces",
        f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims",
        f"/api/v1/namespaces/{namespace}/pods",
    }


def test_a_folder_without_the_examples_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoExamplesError, match=str(tmp_path)):
        load(tmp_path, NUMBERS)
