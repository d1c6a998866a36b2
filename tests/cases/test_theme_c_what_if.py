"""Theme C, row 45: deciding for trial leaves nothing behind, and tells what will be decided.

On a real NATS server with a real allocator process, which records the hash of its state behind every
fact.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from lab import a_claim, a_class, a_part, a_pool_of_parts, a_request, a_slice
from unit.cli.ledger import dra
from world import a_world

from dra_shared.events.allocations import AllocatedClaim

pytestmark = pytest.mark.timeout(180)

DRY_RUNS = 100
SHAREABLE = "device.allowMultipleAllocations"
SHARE = a_request(select=SHAREABLE)
PARTS = a_part("s0", "k", 1, allowMultipleAllocations=True), a_part("x0", "k", 1)
CLUSTER = (a_class(), *a_pool_of_parts("n1", "k", 1, *PARTS))
C1 = a_claim("c1", SHARE)


def a_file(folder: Path, *objects: Any) -> str:
    path = folder / "manifests.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def granted(got: AllocatedClaim) -> list[tuple[str, str, str]]:
    return [(one.request, one.pool, one.device) for one in got.allocation.devices.results or ()]


def test_row_45_a_hundred_dry_runs_leave_log_and_state_as_they_were(tmp_path: Path) -> None:
    asked = a_file(tmp_path, C1, a_claim("whole", a_request(select=f"!{SHAREABLE}")))
    with a_world(tmp_path / "tried") as tried, a_world(tmp_path / "untried") as untried:
        for world in (tried, untried):
            world.apply(*CLUSTER, a_claim("c0", SHARE))
            assert granted(world.given("c0")) == [("r", "n1", "s0")]
        before, log = tried.hash(), tried.log()
        answers = {
            dra("allocate", "-f", asked, "--nats", tried.url).stdout for _ in range(DRY_RUNS)
        }
        assert tried.log()[: len(log)] == log
        assert all("StateRecorded" in line for line in tried.log()[len(log) :])
        assert tried.hash() == before
        for world in (tried, untried):
            world.apply(C1)
        assert granted(tried.given("c1")) == granted(untried.given("c1")) == [("r", "n1", "s0")]
        assert tried.hash() != before, "a hash that nothing changes would prove nothing"
    assert [claim_in(answer) for answer in answers] == [[("r", "n1", "s0")]]


@pytest.mark.parametrize("policy", ["pack", "spread"])
def test_row_45_a_dry_run_says_what_the_allocator_then_does(tmp_path: Path, policy: str) -> None:
    """Also with the policy that the allocator has, which nobody tells the command."""
    slices = [a_slice(f"n{n}", [f"d{m}" for m in range(4)]) for n in range(4)]
    with a_world(tmp_path / "nats", POLICY=policy) as world:
        world.apply(a_class(), *slices, a_claim("c0"))
        world.given("c0")
        for number, count in enumerate((1, 3, 4, 2), 1):
            claim = a_claim(f"c{number}", a_request(count=count))
            asked = dra("allocate", "-f", a_file(tmp_path, claim), "--nats", world.url)
            world.apply(claim)
            assert claim_in(asked.stdout) == granted(world.given(f"c{number}"))


def claim_in(answer: str) -> list[tuple[str, str, str]]:
    """What the only claim of an answer got."""
    (claim,) = [one for one in yaml.safe_load_all(answer) if one["kind"] == "ResourceClaim"]
    results = claim["status"]["allocation"]["devices"]["results"]
    return [(one["request"], one["pool"], one["device"]) for one in results]
