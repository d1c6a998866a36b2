"""What `dra explain claim --as-namespace` shows of others: counts, and never a name of theirs."""

from pathlib import Path

import pytest
from lab import Lab, a_claim, a_class, a_device, a_part, a_pool_of_parts, a_request, a_slice
from unit.cli.ledger import a_file, dra

SECRET = "mergers"


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Other tenants hold devices, shares and counters; each of ours wants what they have."""
    numa = a_device("n0", attributes={"numa": 0})
    lab = Lab(
        a_class(),
        a_class("parts", 'device.driver == "parts.example"'),
        a_slice("n1", ["d0", numa]),
        a_slice("n2", [a_device("s0", allowMultipleAllocations=True, capacity={"memory": "1Gi"})]),
        *a_pool_of_parts(
            "n3", "k", 1, a_part("x0", "k", 1), a_part("x1", "k", 1), driver="parts.example"
        ),
    )
    lab.allocate(
        *(a_claim(f"{SECRET}-{n}", namespace=f"{SECRET}-ns") for n in range(3)),
        a_claim(f"{SECRET}-part", a_request(of="parts"), namespace=f"{SECRET}-ns"),
    )
    lab.allocate(
        a_claim("part", a_request(of="parts")),
        a_claim("whole", a_request(count=2)),
        a_claim("picky", a_request(select='device.attributes["dev.lab.example"].numa == 7')),
    )
    lab.delete(*(a_claim(f"{SECRET}-{n}", namespace=f"{SECRET}-ns") for n in range(2)))
    lab.allocate(a_claim("lucky"))
    return a_file(tmp_path, lab.rehearsal.records)


@pytest.mark.parametrize("claim", ["part", "whole", "picky", "lucky"])
def test_no_name_of_another_tenant_is_in_an_explanation(log: str, claim: str) -> None:
    for output in ("table", "json"):
        words = ("explain", "claim", f"ns1/{claim}", "--as-namespace", "ns1", "-o", output)
        result = dra(*words, "--log", log)
        assert result.exit_code == 0
        assert claim in result.stdout
        assert SECRET not in result.stdout + result.stderr


@pytest.mark.parametrize(
    "name", [f"{SECRET}-ns/{SECRET}-2", f"resourceclaim/{SECRET}-ns/{SECRET}-2"]
)
def test_a_claim_of_another_tenant_is_as_if_it_were_not_there(log: str, name: str) -> None:
    shown = dra("explain", "claim", name, "--log", log)
    assert shown.exit_code == 0
    hidden = dra("explain", "claim", name, "--log", log, "--as-namespace", "ns1")
    assert (hidden.exit_code, hidden.stdout) == (4, "")
    assert hidden.stderr.startswith(f"Error: no claim {name!r} in this log")


def test_names_that_are_near_are_only_those_of_the_own_namespace(log: str) -> None:
    near = ("explain", "claim", f"{SECRET}-ns/{SECRET}-9", "--log", log)
    assert f"did you mean {SECRET}-ns/{SECRET}-" in dra(*near).stderr
    hidden = dra(*near, "--as-namespace", "ns1").stderr
    assert hidden.count(SECRET) == near[2].count(SECRET)
