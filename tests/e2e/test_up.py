"""`dra up`: it says how to go on, kubectl and `dra` work on it, and it ends without a trace."""

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.cli.local import DRA, a_short_folder, dra, environment, processes_of
from waiting import until

from dra_cli.demo.manifests import EXAMPLES
from e2e.controlplane.programs import KUBECTL, program_folder

pytestmark = pytest.mark.timeout(180)


class Up:
    """A running `dra up` and the environment that it told us to set."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*DRA, "up", *words],
            env=environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = ""
        self.env: dict[str, str] = {}

    def wait(self) -> None:
        """Reads what it says until it has said all."""
        assert self.process.stdout is not None
        while "Ctrl-C stops everything" not in self.said:
            line = self.process.stdout.readline()
            if not line:
                pytest.fail(f"dra up ended: {self.process.communicate()}")
            self.said += line
        self.env = dict(re.findall(r"^export (\w+)=(\S+)$", self.said, re.MULTILINE))

    def run(self, *words: str) -> str:
        """What a command prints in the other shell."""
        env = {**environment(self.folder), **self.env}
        return subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Ends it with a signal; exit code and stderr."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=30)
        return self.process.returncode, err


@pytest.fixture
def up() -> Iterator[Up]:
    with a_short_folder() as folder:
        running = Up(folder, "--nodes", "1", "--gpus", "2")
        running.wait()
        yield running
        running.process.kill()
        running.process.communicate()


async def test_kubectl_and_dra_work_on_it_and_it_leaves_nothing(up: Up) -> None:
    assert set(up.env) == {"KUBECONFIG", "NATS_URL"}
    up.run(str(program_folder() / KUBECTL), "apply", "-f", str(EXAMPLES / "deviceclass-gpu.yaml"))
    up.run(
        str(program_folder() / KUBECTL),
        "apply",
        "-f",
        str(EXAMPLES / "01-basic-resourceclaimtemplate.yaml"),
    )

    async def both_run() -> bool:
        return up.run(str(program_folder() / KUBECTL), "get", "pods", "-A").count("Running") == 2

    await until(both_run, "two running pods", within=30)
    assert up.run(*DRA, "get", "claims").count("allocated,reserved") == 2
    assert up.run(*DRA, "get", "devices").count(" held ") == 2
    assert up.run(*DRA, "verify").endswith("every decision derived again\n")
    code, err = up.end(signal.SIGINT)
    assert (code, err.splitlines()) == (0, ["starting ...", "stopped"])
    assert processes_of(up.folder) == []
    assert list(up.folder.iterdir()) == []


def test_events_follow_what_happens(up: Up) -> None:
    following = subprocess.Popen(
        [*DRA, "events", "--follow", "--tag", "class.*"],
        env={**environment(up.folder), **up.env},
        stdout=subprocess.PIPE,
        text=True,
    )
    up.run(str(program_folder() / KUBECTL), "apply", "-f", str(EXAMPLES / "deviceclass-gpu.yaml"))
    assert following.stdout is not None
    assert "class.observed.v1" in following.stdout.readline()
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=10)
    assert following.returncode == 130


def test_it_ends_in_good_order_when_it_is_told_to(up: Up) -> None:
    code, _ = up.end(signal.SIGTERM)
    assert code == 0
    assert processes_of(up.folder) == []
    assert list(up.folder.iterdir()) == []


def test_a_log_that_is_kept_goes_on_with_the_next_cluster() -> None:
    with a_short_folder() as folder:
        log = ""
        for _ in range(2):
            running = Up(folder, "--nodes", "1", "--dir", str(folder / "kept"))
            running.wait()
            log = running.run(*DRA, "events", "--tag", "agent.*")
            assert running.run(*DRA, "verify").endswith("every decision derived again\n")
            assert running.end(signal.SIGINT)[0] == 0
        assert re.findall(r"agent\.\w+", log) == ["agent.started", "agent.stopped", "agent.started"]
        assert {path.name for path in folder.iterdir()} == {"kept"}
        assert {"kubeconfig", "lock", "logs", "nats"} == {
            path.name for path in (folder / "kept").iterdir()
        }


def test_a_taken_port_is_told_before_anything_starts(up: Up) -> None:
    server = up.run(str(program_folder() / KUBECTL), "config", "view", "-o", "jsonpath={..server}")
    result = dra(up.folder, "up", "--port", server.rpartition(":")[2])
    assert result.returncode == 2
    assert "is taken: stop what listens there, or choose another one" in result.stderr
