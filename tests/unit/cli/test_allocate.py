"""`dra allocate`: what it reads, what it prints, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from lab import (
    Object,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_request,
    a_slice,
    an_object,
)
from unit.cli.ledger import dra

CLUSTER = (a_class(), a_slice("n1", ["d0", "d1"]), a_slice("n2", ["d0"]))


def a_file(folder: Path, *objects: Any, name: str = "all.yaml") -> str:
    path = folder / name
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def printed(text: str) -> dict[str, Object]:
    """The objects by kind and name."""
    found = yaml.safe_load_all(text)
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in found}


def devices(claim: Object) -> list[str]:
    return [one["device"] for one in claim["status"]["allocation"]["devices"]["results"]]


def test_claims_come_out_as_they_went_in_with_their_allocation(tmp_path: Path) -> None:
    claim = a_claim("c1", a_request(count=2))
    claim["metadata"]["labels"] = {"team": "red"}
    result = dra("allocate", "-f", a_file(tmp_path, *CLUSTER, claim))
    assert (result.exit_code, result.stderr) == (0, "")
    (got,) = printed(result.stdout).values()
    assert got | {"status": {}} == claim | {"status": {}}
    assert devices(got) == ["d0", "d1"]
    assert "allocationTimestamp" not in result.stdout


def test_pods_come_out_with_their_node_and_claims_made_from_templates(tmp_path: Path) -> None:
    spec = {"spec": {"devices": {"requests": [a_request()]}}}
    template = an_object("ResourceClaimTemplate", "one", "ns1", spec=spec)
    refs = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    pod = an_object("Pod", "p", "ns1", spec={"resourceClaims": refs, "containers": []})
    result = dra("allocate", "-f", a_file(tmp_path, *CLUSTER, template, pod))
    found = printed(result.stdout)
    assert list(found) == ["ResourceClaim/p-gpu", "Pod/p"]
    assert found["Pod/p"]["spec"]["nodeName"] == "n2"
    assert found["Pod/p"]["status"]["resourceClaimStatuses"] == [
        {"name": "gpu", "resourceClaimName": "p-gpu"}
    ]


def test_what_one_run_prints_counts_as_in_use_in_the_next(tmp_path: Path) -> None:
    cluster = a_file(tmp_path, *CLUSTER)
    first = a_file(tmp_path, a_claim("c1"), a_pod("p1", "c1"), name="first.yaml")
    earlier = tmp_path / "earlier.yaml"
    earlier.write_text(dra("allocate", "-f", cluster, "-f", first).stdout)
    second = a_file(tmp_path, a_claim("c2"), name="second.yaml")
    result = dra("allocate", "-f", cluster, "-f", str(earlier), "-f", second)
    assert result.exit_code == 0
    got = printed(result.stdout)["ResourceClaim/c2"]["status"]["allocation"]["devices"]["results"]
    assert [(one["pool"], one["device"]) for one in got] == [("n1", "d0")]


def test_a_folder_and_lists_of_kubectl_are_read_and_other_kinds_named(tmp_path: Path) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [*CLUSTER, a_claim("c1")]}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    a_file(tmp_path, listed, deployment, None)
    (tmp_path / "notes.txt").write_text("no manifest")
    result = dra("allocate", "-f", str(tmp_path))
    assert list(printed(result.stdout)) == ["ResourceClaim/c1"]
    assert result.stderr == "left out: objects of kind Deployment, on which no allocation depends\n"


def test_why_is_told_as_json_with_counts_that_sum_up(tmp_path: Path) -> None:
    file = a_file(tmp_path, *CLUSTER, a_claim("c1"), a_claim("big", a_request(count=3)))
    result = dra("allocate", "-f", file, "--explain")
    one, big = json.loads(result.stdout)
    assert (one["pod"], one["node"]) == ("ns1/c1", "n2")
    assert one["claims"]["ns1/c1"][0]["device"] == "dev.lab.example/n2/d0"
    assert (big["node"], big["refusal"], big["nodes"]) == (None, "unsatisfiable", 2)
    assert sum(reason["devices"] for reason in big["reasons"]) == big["devices"] == 3
    assert result.exit_code == 1
    assert "1 pod of 2 cannot be placed\npod ns1/big unsatisfiable: 0/2 nodes" in result.stderr


def test_the_same_manifests_give_the_same_answer(tmp_path: Path) -> None:
    shared = a_device("s0", allowMultipleAllocations=True, capacity={"memory": "8Gi"})
    file = a_file(tmp_path, *CLUSTER, a_slice("n3", [shared]), a_claim("c1"), a_claim("c2"))
    words = ("allocate", "-f", file, "--policy", "spread")
    assert dra(*words).stdout == dra(*words).stdout


def test_one_pod_may_ask_alone(tmp_path: Path) -> None:
    file = a_file(tmp_path, *CLUSTER, a_claim("c1", a_request(count=2)), a_claim("c2"))
    result = dra("allocate", "-f", file, "--pod", "ns1/c2")
    assert list(printed(result.stdout)) == ["ResourceClaim/c2"]
    missing = dra("allocate", "-f", file, "--pod", "c3")
    assert missing.exit_code == 4
    assert "there is no pod c3 that waits, there are ns1/c1, ns1/c2" in missing.stderr


def test_features_are_those_of_the_release_that_is_named(tmp_path: Path) -> None:
    wish = {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "any"}]}
    file = a_file(tmp_path, *CLUSTER, a_claim("c1", wish))
    assert dra("allocate", "-f", file).exit_code == 0
    assert dra("allocate", "-f", file, "--release", "1.34").exit_code == 0
    off = dra("allocate", "-f", file, "--features", "-PrioritizedList")
    assert "has alternatives, which are off" in off.stderr
    odd = dra("allocate", "-f", file, "--features", "Prioritised")
    assert odd.exit_code == 2
    assert "'Prioritised' is none of AdminAccess, " in odd.stderr


def test_nodes_and_pods_that_are_there_count(tmp_path: Path) -> None:
    room = {"cpu": "2", "memory": "1Gi", "pods": "10"}
    node = a_node("n2", status={"allocatable": room})
    need = {"resources": {"requests": {"cpu": "1500m"}}}
    containers = [{"name": "c", "image": "i", **need}]
    runs = an_object("Pod", "runs", "ns1", spec={"containers": containers, "nodeName": "n2"})
    wants = a_pod("wants", "c1", containers=containers)
    file = a_file(tmp_path, *CLUSTER, node, runs, a_claim("c1"), wants)
    result = dra("allocate", "-f", file)
    assert "0/1 nodes can satisfy: 1 device on nodes that do not fit (not enough cpu)" in (
        result.stderr
    )


def _broken(name: str, value: Any) -> Object:
    claim = a_claim("c1")
    claim["spec"]["devices"]["requests"][0]["exactly"][name] = value
    return claim


DANGLING = a_pod("p1", "nowhere")
BAD: dict[str, tuple[Any, str]] = {
    "no object": ("text", "document 4: is no object; it needs apiVersion, kind and metadata"),
    "no kind": ({"apiVersion": "v1"}, "document 4: kind: Required value"),
    "no name": (
        {"apiVersion": "v1", "kind": "Node", "metadata": {}},
        "document 4, Node: metadata.name: Required value",
    ),
    "old version": (
        {"apiVersion": "resource.k8s.io/v1beta1", "kind": "DeviceClass"},
        "apiVersion is resource.k8s.io/v1beta1, it must be resource.k8s.io/v1 or ",
    ),
    "unknown field": (
        _broken("cuont", 2),
        'unknown field "spec.devices.requests[0].exactly.cuont"; correct it, or go on without ',
    ),
    "wrong type": (
        _broken("count", "two"),
        "c1: cannot unmarshal str into field spec.devices.requests[0].exactly.count of type int",
    ),
    "broken rule": (
        _broken("count", -1),
        "spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero",
    ),
    "missing field": (
        an_object("DeviceTaintRule", "t", spec={"taint": {"key": "k"}}),
        "DeviceTaintRule t: Object missing required field `effect` - at `$.spec.taint`",
    ),
    "twice": (a_class(), "document 4, DeviceClass any: is in "),
    "dangling": (
        DANGLING,
        "Pod p1: spec.resourceClaims[nowhere]: there is no ResourceClaim nowhere in namespace ns1",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_broken_manifest_is_named_with_file_document_object_and_field(
    what: str, tmp_path: Path
) -> None:
    content, told = BAD[what]
    file = a_file(tmp_path, *CLUSTER, content)
    result = dra("allocate", "-f", file)
    assert result.exit_code == 2
    assert file in result.stderr
    assert told in result.stderr


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [1\n")
    assert "bad.yaml, document 1: is no YAML: " in dra("allocate", "-f", str(tmp_path)).stderr
    assert "gone cannot be read: No such file" in dra("allocate", "-f", str(tmp_path / "gone")).stderr  # fmt: skip
    (tmp_path / "bad.yaml").unlink()
    assert "has no file that ends in .yaml" in dra("allocate", "-f", str(tmp_path)).stderr


def test_times_are_text_with_and_without_quotes(tmp_path: Path) -> None:
    rule = an_object("DeviceTaintRule", "t", spec={"deviceSelector": {"driver": "x"}})
    rule["spec"]["taint"] = {"key": "k", "effect": "NoSchedule", "timeAdded": "SOON"}
    file = Path(a_file(tmp_path, *CLUSTER, rule, a_claim("c1")))
    file.write_text(file.read_text().replace("SOON", "2026-11-30T15:00:00Z"))
    assert dra("allocate", "-f", str(file)).exit_code == 0


def test_an_unknown_field_may_be_left_out(tmp_path: Path) -> None:
    result = dra("allocate", "-f", a_file(tmp_path, *CLUSTER, _broken("cuont", 2)), "--lenient")
    assert result.exit_code == 0
    assert result.stderr == (
        'left out: unknown field "spec.devices.requests.exactly.cuont" of ResourceClaim\n'
    )


def test_a_pod_whose_claim_is_being_deleted_is_said_to_wait(tmp_path: Path) -> None:
    claim = a_claim("c1")
    claim["metadata"] |= {"deletionTimestamp": "2026-11-30T15:00:00Z", "finalizers": ["a/b"]}
    result = dra("allocate", "-f", a_file(tmp_path, *CLUSTER, claim))
    assert result.exit_code == 1
    assert "pod ns1/c1 waits: a claim of it is being deleted, or is not its own" in result.stderr


def test_a_card_that_two_drivers_publish_is_warned_of(tmp_path: Path) -> None:
    card = {"attributes": {"resource.kubernetes.io/pciBusID": "0000:41:00.0"}}
    slices = [a_slice("n1", [a_device("d0", **card)], driver=f"drv-{each}") for each in "ab"]
    result = dra("allocate", "-f", a_file(tmp_path, *slices))
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: drv-a/n1/d0 and drv-b/n1/d0 are one card, 0000:41:00.0 of n1\n"
    )
