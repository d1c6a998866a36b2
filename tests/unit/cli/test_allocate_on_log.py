"""`dra allocate` on top of a log: what is there already counts, what is new is only tried."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from cluster import a_claim as a_claim_fact
from cluster import a_pod as a_pod_fact
from histories import STEPS, Step, go_on, start
from hypothesis import given
from lab import (
    Object,
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_request,
    a_slice,
    an_object,
    first_of,
    wanted,
)
from unit.cli.ledger import a_file, a_history, dra

from dra_cli.core.answer import last_words
from dra_cli.core.completion import complete
from dra_cli.core.ground import Ground
from dra_cli.core.manifests import Document, read
from dra_cli.core.what_if import Terms, what_if
from dra_shared.events.allocations import AllocationFact, ClaimAllocated, ClaimUnsatisfiable
from dra_shared.events.cluster import FeaturesObserved
from dra_shared.log.protocol import Record

END = "up to sequence 16, 1970-01-01T00:00:16.000Z"


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Nodes n1 (two devices) and n2 (one); claim `one` is held, `many` waits for five devices."""
    return a_file(tmp_path, a_history().records)


def try_on(log: str, *objects: Any, words: tuple[str, ...] = ()) -> Result:
    """What the command says about these objects on this log."""
    path = Path(log).parent / "tried.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return dra("allocate", "-f", str(path), "--log", log, *words)


def new(name: str, *requests: Object) -> Object:
    return a_claim(name, *requests, namespace="ns")


def in_ns(pod: Object) -> Object:
    pod["metadata"]["namespace"] = "ns"
    return pod


def printed(result: Result) -> dict[str, Object]:
    found = yaml.safe_load_all(result.stdout)
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in found if one}


def devices(claim: Object) -> list[tuple[str, str]]:
    results = claim["status"]["allocation"]["devices"]["results"]
    return [(one["pool"], one["device"]) for one in results]


def test_what_the_log_holds_counts_and_the_answer_names_the_place(log: str) -> None:
    result = try_on(log, new("c1"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"# decided on the log of {log} {END}\n")
    assert devices(printed(result)["ResourceClaim/c1"]) == [("n1", "d0")]
    refused = try_on(log, new("c1", a_request(count=3)))
    assert refused.exit_code == 1
    assert "0/2 nodes can satisfy: 2 devices free, but too few on a node, 1 in use" in (
        refused.stderr
    )


def test_an_earlier_place_is_answered_as_it_was(log: str) -> None:
    result = try_on(log, new("c1"), words=("--at", "10"))
    assert f"{log} up to sequence 10, 1970-01-01T00:00:10.000Z" in result.stdout
    assert devices(printed(result)["ResourceClaim/c1"]) == [("n2", "d0")]
    nothing = try_on(log, new("c1"), words=("--at", "1970-01-01T00:00:00Z"))
    assert nothing.stdout == f"# decided on the log of {log} before its first fact\n"


def test_reasons_carry_the_place(log: str) -> None:
    result = try_on(log, new("c1"), words=("--explain",))
    (answer,) = json.loads(result.stdout)
    assert (answer["node"], answer["sequence"]) == ("n1", 16)
    assert answer["time"] == "1970-01-01T00:00:16.000Z"
    assert result.stderr == f"decided on the log of {log} {END}\n"


def test_a_pod_may_use_a_claim_of_the_log(log: str) -> None:
    pod = in_ns(a_pod("p", "one"))
    found = printed(try_on(log, pod))
    assert list(found) == ["Pod/p"]
    assert found["Pod/p"]["spec"]["nodeName"] == "n2"
    nobody = try_on(log, in_ns(a_pod("p", "none")))
    assert nobody.exit_code == 2
    assert f"there is no ResourceClaim none in namespace ns among the manifests, nor in the log of {log}" in nobody.stderr  # fmt: skip


def test_a_pending_claim_of_the_log_is_decided_with_the_pod_that_is_tried(log: str) -> None:
    five = a_slice("n9", [f"x{n}" for n in range(5)])
    found = printed(try_on(log, five, in_ns(a_pod("p", "many")), words=("--pod", "p")))
    assert list(found) == ["ResourceClaim/many", "Pod/p"]
    assert len(devices(found["ResourceClaim/many"])) == 5


def test_pods_of_the_log_that_wait_come_first_and_are_told_of(log: str) -> None:
    six = a_slice("n9", [f"x{n}" for n in range(6)])
    result = try_on(log, six, new("c1", a_request(count=4)))
    assert result.stderr.startswith("pod ns/eater, which waits in the log, would go to n9\n")
    assert result.exit_code == 1
    alone = try_on(log, six, new("c1", a_request(count=4)), words=("--pod", "c1"))
    assert (alone.exit_code, alone.stderr) == (0, "")
    why = json.loads(try_on(log, six, words=("--explain",)).stdout)
    assert [(one["pod"], one["node"]) for one in why] == [("ns/eater", "n9")]


CLASHES: dict[str, tuple[Object, str]] = {
    "claim": (new("one"), "ResourceClaim ns/one"),
    "pod": (in_ns(a_pod("user", "one")), "Pod ns/user"),
    "node": (a_node("n1"), "Node n1"),
    "pool": (
        a_slice("n1", ["d9"]),
        "ResourceSlice n1-dev.lab.example-1 of pool dev.lab.example/n1",
    ),
    "class": (a_class("any", "true"), "DeviceClass any"),
}


@pytest.mark.parametrize("kind", CLASHES)
def test_what_the_log_has_already_is_refused_and_named(kind: str, log: str) -> None:
    clashing, named = CLASHES[kind]
    result = try_on(log, new("c1"), clashing)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"in the log of {log} {END} there is already:" in result.stderr
    assert f"tried.yaml, document 2, {named}\n" in result.stderr
    assert "Leave out what is there" in result.stderr


def test_a_uid_of_the_log_is_refused_under_any_name(log: str) -> None:
    copied = new("copy")
    copied["metadata"]["uid"] = "one-uid"
    assert "document 1, ResourceClaim ns/copy" in try_on(log, copied).stderr


def test_many_clashes_are_counted(log: str) -> None:
    nodes = [a_slice("n1", [f"d{n}"], part=(n, 12)) for n in range(1, 13)]
    assert "and 4 more\n" in try_on(log, *nodes).stderr


def test_a_class_that_is_the_same_is_no_clash(log: str) -> None:
    assert try_on(log, a_class(), new("c1")).exit_code == 0


def test_a_place_that_is_not_there_and_a_log_that_cannot_be_read_are_named(log: str) -> None:
    beyond = try_on(log, new("c1"), words=("--at", "17"))
    assert beyond.exit_code == 4
    assert "no sequence 17: the log ends at 16" in beyond.stderr
    file = str(Path(log).parent / "tried.yaml")
    nowhere = dra("allocate", "-f", file, "--nats", "nats://127.0.0.1:1")
    assert nowhere.exit_code == 3
    assert "no NATS server at nats://127.0.0.1:1" in nowhere.stderr
    assert "Another log: --nats URL (or NATS_URL), or --log FILE" in nowhere.stderr


def test_only_the_command_line_names_a_log(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_URL", "nats://127.0.0.1:1")
    file = Path(log).parent / "alone.yaml"
    file.write_text(yaml.safe_dump_all([a_class(), a_slice("n1", ["d0"]), a_claim("c1")]))
    assert dra("allocate", "-f", str(file)).exit_code == 0
    assert dra("allocate", "-f", str(file), "--live").exit_code == 3


def test_one_answer_is_a_manifest_for_the_next(log: str) -> None:
    first = Path(log).parent / "first.yaml"
    first.write_text(try_on(log, new("c1"), in_ns(a_pod("p1", "c1"))).stdout)
    second = try_on(log, new("c2"), words=("-f", str(first)))
    assert devices(printed(second)["ResourceClaim/c2"]) == [("n1", "d1")]


def test_pods_that_run_take_room_on_nodes_of_the_log(log: str) -> None:
    need = {"resources": {"requests": {"cpu": "5"}}}
    containers = [{"name": "c", "image": "i", **need}]
    runs = an_object("Pod", "runs", "ns", spec={"containers": containers, "nodeName": "n1"})
    wants = in_ns(a_pod("wants", "c1", containers=containers))
    assert printed(try_on(log, new("c1"), wants))["Pod/wants"]["spec"]["nodeName"] == "n1"
    crowded = try_on(log, runs, new("c1"), wants)
    assert crowded.exit_code == 1
    assert "2 devices on nodes that do not fit (not enough cpu), 1 in use" in crowded.stderr


def test_features_are_those_of_the_log_unless_others_are_asked_for(tmp_path: Path) -> None:
    story = a_history()
    story.tell(FeaturesObserved(server_version="1.34", features=("AdminAccess",)))
    log = a_file(tmp_path, story.records)
    claim = new("c1", first_of(a=wanted()))
    assert "has alternatives, which are off" in try_on(log, claim).stderr
    assert try_on(log, claim, words=("--features", "PrioritizedList")).exit_code == 0
    assert try_on(log, claim, words=("--release", "1.36")).exit_code == 0


def test_admin_access_goes_where_the_log_knows_that_it_may(tmp_path: Path) -> None:
    story = a_history()
    looks = a_claim_fact("look", admin_namespace=True)
    story.tell(looks, a_pod_fact("looker", "look"))
    story.decide()
    log = a_file(tmp_path, story.records)
    watch = new("watch", a_request(adminAccess=True))
    pod = in_ns(a_pod("p", "look", "watch"))
    assert printed(try_on(log, watch, pod))["Pod/p"]["spec"]["nodeName"] == "n1"
    assert "does not allow" in try_on(log, watch).stderr


def test_facts_that_cannot_be_read_are_warned_of(tmp_path: Path) -> None:
    log = a_file(tmp_path, a_history().records)
    text = Path(log).read_text().replace('"tag":"claim.prepared.v1"', '"tag":"claim.blessed.v1"')
    Path(log).write_text(text)
    result = try_on(log, new("c1"))
    assert result.exit_code == 0
    assert "warning: 1 fact of the log, the first at sequence 13, cannot be read" in result.stderr


def _places(facts: list[AllocationFact]) -> dict[str, Any]:
    """Where pods go, with their devices, and why the one that is tried goes nowhere."""
    places: dict[str, Any] = {}
    for fact in last_words(facts):
        match fact:
            case ClaimAllocated():
                costs = [cost.device for one in fact.claims for cost in one.costs]
                places[fact.pod.name] = fact.node, costs
            case ClaimUnsatisfiable() if fact.pod.name == "tried":
                places[fact.pod.name] = fact.refusal, fact.summary
            case _:
                pass
    return places


@given(STEPS)
def test_what_is_tried_is_what_the_allocator_would_decide(steps: list[Step]) -> None:
    story = start()
    for step in steps:
        go_on(story, step)
    story.decide()
    ground, before = Ground("story"), story.state.hash()
    records: list[Record] = story.records
    for record in records:
        ground.take(record)
    objects = [new("new", a_request(count=2)), in_ns(a_pod("tried", "new"))]
    documents = [Document("m", n, one) for n, one in enumerate(objects)]
    shown = complete(one.object for one in read(documents).manifests)
    terms = Terms(policy=ground.policy, features=None, alone=False)
    rehearsal = what_if(ground, ground.there(()), shown, terms)
    told: list[Any] = [record.envelope.fact for record in rehearsal.records]
    tried = rehearsal.decide()
    assert story.state.hash() == before
    story.tell(*told)
    assert _places(tried) == _places(story.decide())
