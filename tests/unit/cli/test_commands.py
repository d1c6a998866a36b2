"""The commands on a log file: what they print, and how they end."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import yaml
from cluster import a_record
from unit.cli.ledger import a_file, a_history, dra

from dra_cli.__main__ import COMMANDS
from dra_cli.local.hold import held
from dra_shared.events.allocations import ClaimAllocated
from dra_shared.log.protocol import Record


@pytest.fixture
def log(tmp_path: Path) -> str:
    """The small history in a file."""
    return a_file(tmp_path, a_history().records)


def rows(text: str) -> list[list[str]]:
    """The cells of a table, without its heading."""
    return [line.split() for line in text.splitlines()[1:]]


def test_claims_are_shown_with_state_devices_and_pods(log: str) -> None:
    shown = dra("get", "claims", "--log", log).stdout
    assert "NAMESPACE" in shown
    (many, one) = rows(shown)
    assert many[:3] == ["ns", "many", "unsatisfiable"]
    assert "0/2 nodes can satisfy" in shown
    assert one[:7] == [
        *("ns", "one", "allocated,reserved", "n2", "dev.lab.example/n2/d0", "ns/user", "yes")
    ]


def test_devices_are_shown_with_who_holds_them(log: str) -> None:
    shown = json.loads(dra("get", "devices", "--log", log, "-o", "json").stdout)
    assert [(row["node"], row["device"], row["state"], row["claims"]) for row in shown] == [
        ("n1", "d0", "free", []),
        ("n1", "d1", "free", []),
        ("n2", "d0", "held", ["ns/one"]),
    ]


def test_pools_and_nodes_are_shown_with_what_is_free(log: str) -> None:
    pools = yaml.safe_load(dra("get", "pools", "--log", log, "-o", "yaml").stdout)
    assert [(row["pool"], row["generation"], row["devices"], row["free"]) for row in pools] == [
        ("n1", 1, 2, 2),
        ("n2", 1, 1, 0),
    ]
    nodes = rows(dra("get", "nodes", "--log", log).stdout)
    assert nodes[1] == ["n2", "ready", "dev.lab.example", "1", "1", "ns/one"]


def test_an_earlier_moment_is_shown_as_it_was(log: str) -> None:
    assert dra("get", "devices", "--log", log, "--at", "1").stderr.startswith("No devices in ")
    before = dra("get", "claims", "--log", log, "--at", "1970-01-01T00:00:11Z").stdout
    assert rows(before)[0][:3] == ["ns", "one", "pending"]


def test_events_are_one_a_line_and_raw_ones_are_the_log_itself(log: str) -> None:
    lines = dra("events", "--log", log).stdout.splitlines()
    assert len(lines) == len(a_history().records)
    assert dra("events", "--raw", "--log", log).stdout == Path(log).read_text()


def test_a_claim_that_is_not_there_is_answered_with_names_that_are_near(log: str) -> None:
    for words in (["events", "--claim", "ns/won"], ["explain", "claim", "ns/won"]):
        result = dra(*words, "--log", log)
        assert result.exit_code == 4
        assert "no claim 'ns/won' in this log; did you mean ns/one" in result.stderr


def test_a_held_claim_is_explained_with_what_the_allocator_saw(log: str) -> None:
    shown = dra("explain", "claim", "ns/one", "--log", log).stdout
    assert shown.startswith("ns/one: policy pack chose node n2 for pod ns/user (sequence 12, ")
    assert "r        dev.lab.example/n2/d0  the whole device" in shown
    assert rows(shown)[-1] == ["3", "free"]


def test_a_refused_claim_is_explained_with_its_reasons(log: str) -> None:
    found = json.loads(dra("explain", "claim", "many-uid", "--log", log, "-o", "json").stdout)
    assert found["answer"].startswith("pod ns/eater unsatisfiable: 0/2 nodes can satisfy")
    assert sum(reason["devices"] for reason in found["saw"]) == 3
    assert {reason["found"] for reason in found["saw"]} == {"free", "in use"}


def test_a_replay_shows_the_state_and_the_hash_that_the_service_had(log: str) -> None:
    story = a_history()
    whole = json.loads(dra("replay", "--log", log, "-o", "json").stdout)
    assert whole["allocator_hash"] == story.state.hash()
    assert whole["registers"]["holdings"]["one-uid"]["node"] == "n2"
    assert f"allocator hash  {story.state.hash()}" in dra("replay", "--log", log).stdout
    early = json.loads(dra("replay", "--log", log, "--at", "10", "-o", "json").stdout)
    assert early["allocator_hash"] != whole["allocator_hash"]
    assert early["sequence"] == 10


def test_a_sequence_that_is_not_there_is_answered_with_the_last_one(log: str) -> None:
    result = dra("replay", "--log", log, "--at", "999")
    assert result.exit_code == 4
    assert "no sequence 999: the log ends at 16" in result.stderr


def test_a_good_log_verifies(log: str) -> None:
    result = dra("verify", "--log", log)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "16 facts: no device given twice, every decision derived again\n"


def test_a_device_that_was_given_twice_is_found(tmp_path: Path) -> None:
    result = dra("verify", "--log", a_file(tmp_path, given_twice()), "-o", "json")
    assert result.exit_code == 1
    assert "is not as it should be" in result.stderr
    findings = json.loads(result.stdout)["findings"]
    assert any("dev.lab.example/n2/d0 is held 2 times" in finding["what"] for finding in findings)
    assert {finding["sequence"] for finding in findings} == {17}


def given_twice() -> list[Record]:
    """The history with a decision that gives the device of `one` to `many` too."""
    records = a_history().records
    envelope = next(r.envelope for r in records if isinstance(r.envelope.fact, ClaimAllocated))
    text = msgspec.json.encode(envelope).decode().replace("one", "many").replace("user", "eater")
    forged = msgspec.json.decode(text, type=type(envelope))
    forged = msgspec.structs.replace(forged, id="forged", cause=16)
    return [*records, a_record(forged, 17)]


def test_an_export_is_a_log_again(log: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    assert dra("export", str(copy), "--log", log).exit_code == 0
    assert copy.read_text() == Path(log).read_text()
    again = dra("export", str(copy), "--log", log)
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def test_what_this_release_cannot_read_is_kept_and_told(log: str, tmp_path: Path) -> None:
    text = Path(log).read_text().replace('"tag":"claim.prepared.v1"', '"tag":"claim.blessed.v1"')
    path = tmp_path / "newer.jsonl"
    path.write_text(text)
    assert "a fact of a later release" in dra("events", "--log", str(path)).stdout
    assert json.loads(dra("events", "--raw", "--log", str(path)).stdout.splitlines()[12]) == (
        json.loads(text.splitlines()[12])
    )
    result = dra("verify", "--log", str(path))
    assert (result.exit_code, "cannot be read by this release" in result.stdout) == (1, True)


def test_without_nats_the_error_says_where_it_looked_and_what_to_do() -> None:
    result = dra("get", "claims", "--nats", "nats://me:secret@127.0.0.1:1")
    assert result.exit_code == 3
    assert "no NATS server at 127.0.0.1:1" in result.stderr
    assert "--log FILE" in result.stderr
    assert "secret" not in result.stderr


def test_an_export_that_cannot_be_made_whole_leaves_no_file(log: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    assert dra("export", str(copy), "--log", log, "--at", "9999").exit_code == 4
    assert not copy.exists()
    lost = dra("export", str(tmp_path / "nowhere" / "copy.jsonl"), "--log", log)
    assert (lost.exit_code, "cannot be made" in lost.stderr) == (2, True)


def test_a_file_that_is_no_log_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b"\xff\xfe no newline")
    result = dra("verify", "--log", str(tmp_path / "notes"))
    assert (result.exit_code, "line 1 of" in result.stderr) == (3, True)


def test_facts_that_nothing_matches_are_said_to_be_none(log: str) -> None:
    result = dra("events", "--log", log, "--node", "no-such-node")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No such facts" in result.stderr


def test_a_folder_in_use_or_not_to_be_made_is_refused(tmp_path: Path) -> None:
    with held(tmp_path):
        result = dra("up", "--dir", str(tmp_path))
    assert (result.exit_code, "another process keeps its log" in result.stderr) == (2, True)
    result = dra("up", "--dir", "/proc/none")
    assert (result.exit_code, "cannot be used" in result.stderr) == (2, True)


def test_a_damaged_log_file_is_named_with_its_line(log: str) -> None:
    lines = Path(log).read_text().splitlines()
    Path(log).write_text("\n".join([*lines[:3], "{", *lines[4:], ""]))
    result = dra("get", "claims", "--log", log)
    assert result.exit_code == 3
    assert "line 4 of" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["get", "pods"],
        ["get", "claims", "--at", "noon"],
        ["get", "claims", "--log", "/no/such/file"],
        ["explain", "pod", "x"],
        ["fly"],
    ],
)
def test_wrong_usage_ends_with_2(words: list[str]) -> None:
    assert dra(*words).exit_code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_with_an_example(name: str) -> None:
    result = dra(name, "--help")
    assert result.exit_code == 0
    assert f"  dra {name}" in result.stdout.partition("Example")[2]


def test_help_is_at_once_since_nothing_heavy_is_imported() -> None:
    heavy = {"msgspec", "nats", "aiohttp", "rich", "yaml", "dra_shared", "kube_cel"}
    script = (
        "import sys\n"
        "from dra_cli.__main__ import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert heavy.isdisjoint(run.stdout.splitlines()[-1].split())
