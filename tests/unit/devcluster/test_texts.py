"""Texts that people and programs read: ages, environments, CDI files, command lines."""

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.schema import Strictness, shape
from dra_devcluster.api.tables import age
from dra_devcluster.api.timestamps import timestamp
from dra_devcluster.kubelet.cdi import CdiError, Edits, edits_for
from dra_devcluster.kubelet.connection import KubeconfigError, from_kubeconfig
from dra_devcluster.kubelet.environment import environment, log_lines
from dra_devcluster.kubelet.place import FolderError, PathTooLongError, Place, parse_place
from dra_devcluster.settings import parse_arguments

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (660, "11m"),
        (4 * 3600 + 120, "4h2m"),
        (30 * 3600, "30h"),
        (3 * 86400 + 3600, "3d1h"),
        (9 * 86400 + 3600, "9d"),
    ],
)
def test_ages_are_worded_as_kubectl_does(seconds: int, words: str) -> None:
    assert age(timestamp(NOW - timedelta(seconds=seconds)), NOW) == words


def test_an_environment_lists_cdi_over_the_containers_own() -> None:
    pod = {"metadata": {"name": "pod"}, "spec": {"nodeName": "n1"}}
    node_name = {"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    container = {"env": [{"name": "A", "value": "own"}, {"name": "NODE", **node_name}]}
    edits = Edits((("A", "cdi"),), ("/dev/x",), (("/host", "/inside"),))
    lines = list(log_lines(environment(pod, container, edits), edits))
    assert lines[0] == 'declare -x A="cdi"'
    assert 'declare -x NODE="n1"' in lines
    assert lines[-2:] == ["# device node /dev/x", "# mount /host at /inside"]


def a_cdi_file(folder: Path, name: str, kind: str, *devices: str) -> None:
    spec = {
        "kind": kind,
        "containerEdits": {"env": [f"{name.upper()}=1"]},
        "devices": [
            {"name": device, "containerEdits": {"env": [f"DEVICE={device}"]}} for device in devices
        ],
    }
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(spec))


def test_the_edits_of_a_cdi_file_come_once_before_those_of_its_devices(tmp_path: Path) -> None:
    a_cdi_file(tmp_path, "one", "v/c", "a", "b")
    edits = edits_for(["v/c=b", "v/c=a", "v/c=b"], tmp_path)
    assert edits.environment == (("ONE", "1"), ("DEVICE", "b"), ("DEVICE", "a"))


def test_a_cdi_device_that_no_file_explains_is_named(tmp_path: Path) -> None:
    a_cdi_file(tmp_path, "one", "v/c", "a")
    with pytest.raises(CdiError, match="v/c=z, v/d=a"):
        edits_for(["v/c=z", "v/c=a", "v/d=a"], tmp_path)


def test_a_broken_cdi_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(CdiError, match=r"broken\.json"):
        edits_for(["v/c=a"], tmp_path)


def test_a_node_is_read_from_one_word() -> None:
    place = parse_place("node-a,cpu=4,memory=8Gi")
    assert (place.name, place.cpu, place.memory, place.pods) == ("node-a", "4", "8Gi", "110")


def test_a_root_too_deep_for_sockets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PathTooLongError, match="choose a shorter root"):
        Place(name="n" * 60, root=tmp_path / ("d" * 60)).make_folders()


@pytest.mark.parametrize("text", ["a,colour=red", "a,cpu", "a,cpu=many"])
def test_a_node_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="a,c"):
        parse_place(text)


@pytest.mark.parametrize("name", ["A_b", "", "a b", "../a", "-a", "a." + "b" * 260])
def test_a_name_that_no_node_can_have_is_refused(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(["--root", "/tmp", f"--node={name}"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"{name!r} is no name for a node: a lowercase RFC 1123 subdomain must" in said


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(["--help"])
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert "plugins_registry" in printed
    assert "export KUBECONFIG" in printed


def test_a_kubeconfig_without_context_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("contexts: []\n")
    with pytest.raises(KubeconfigError, match=str(path)):
        from_kubeconfig(path)


@pytest.mark.parametrize(
    ("cluster", "user", "named"),
    [
        ({"proxy-url": "http://proxy"}, {}, "proxy-url"),
        ({"tls-server-name": "kubernetes"}, {}, "tls-server-name"),
        ({}, {"exec": {"command": "login"}}, "exec"),
        ({}, {"username": "u", "password": "p"}, "password, username"),
        ({}, {"tokenFile": "/token"}, "tokenFile"),
    ],
)
def test_a_kubeconfig_that_asks_for_more_than_there_is_is_refused(
    cluster: dict[str, str], user: dict[str, Any], named: str, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://a", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(config))
    with pytest.raises(KubeconfigError, match=f"has {named}, which is not supported here"):
        from_kubeconfig(path)


def test_unknown_fields_are_found_at_any_depth_and_left_out() -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "c", "odd": 1}}
    claim = {"metadata": {"name": "one"}, "spec": {"devices": {"requests": [request]}}}
    shaped = shape(claim, "ResourceClaim", Strictness.WARN)
    assert shaped.warnings == ('unknown field "spec.devices.requests[0].exactly.odd"',)
    (left,) = shaped.obj["spec"]["devices"]["requests"]
    assert left["exactly"] == {"deviceClassName": "c"}


def test_nulls_and_empty_lists_are_left_out_and_empty_objects_kept() -> None:
    spec = {"containers": [], "volumes": [{"name": "v", "emptyDir": {}}], "nodeName": None}
    shaped = shape({"metadata": {"name": "one"}, "spec": spec}, "Pod", Strictness.STRICT)
    assert shaped.obj["spec"] == {"volumes": [{"name": "v", "emptyDir": {}}]}


def test_a_value_of_the_wrong_type_is_a_bad_request() -> None:
    pod = {"metadata": {"name": "one"}, "spec": {"hostNetwork": "yes"}}
    with pytest.raises(ApiError, match=r"spec\.hostNetwork") as refused:
        shape(pod, "Pod", Strictness.IGNORE)
    assert refused.value.code == 400


def test_a_folder_that_cannot_be_made_is_named() -> None:
    with pytest.raises(FolderError, match="/proc/none"):
        Place(name="n1", root=Path("/proc/none")).make_folders()
