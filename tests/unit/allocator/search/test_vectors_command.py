"""The command that compares answers with recorded ones counts honestly and says what is wrong."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from unit.allocator.search.builders import a_claim, a_class, a_device, a_request, a_slice
from vectors.allocator import main

from dra_shared.kube.claims import ResourceClaim

PINNED = {
    "nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    ]
}


def a_line(expected: dict[str, Any], claim: ResourceClaim | None = None, **fields: Any) -> bytes:
    """A problem with one shareable device that consumes its only capacity."""
    device = a_device("d0", allowMultipleAllocations=True, capacity={"memory": "4"})
    return msgspec.json.encode(
        {
            "name": "line",
            "features": ["AdminAccess", "ConsumableCapacity"],
            "node": {"metadata": {"name": "n1"}},
            "slices": [a_slice(device)],
            "classes": [a_class()],
            "claims": [claim or a_claim()],
            "expected": expected,
            **fields,
        }
    )


def allocated(**fields: Any) -> dict[str, Any]:
    result = {"request": "r", "driver": "dev.lab.example", "pool": "n1", "device": "d0", **fields}
    return {
        "outcome": "allocated",
        "results": [{"devices": {"results": [result]}, "nodeSelector": PINNED}],
    }


def run(tmp_path: Path, *lines: bytes) -> int:
    path = tmp_path / "vectors.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return main([str(path), "--failures"])


SHARED = allocated(shareID="any", consumedCapacity={"memory": "4000m"})
ADMIN = a_claim(a_request(adminAccess=True))
CHARGED = allocated(adminAccess=True, shareID="any", consumedCapacity={"memory": "4"})


def test_quantities_and_share_ids_are_compared_by_what_they_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, a_line(SHARED)) == 0
    assert capsys.readouterr().out == "1 of 1 match\n"


@pytest.mark.parametrize(
    "expected",
    [
        {"outcome": "unsatisfiable"},
        {"outcome": "error", "error": "why"},
        allocated(shareID="any", consumedCapacity={"memory": "3"}),
        allocated(consumedCapacity={"memory": "4"}),
    ],
)
def test_a_different_answer_fails_and_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expected: dict[str, Any]
) -> None:
    assert run(tmp_path, a_line(SHARED), a_line(expected)) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("fail line: expected")
    assert shown[-1] == "1 of 2 match"


def test_a_difference_with_a_known_reason_is_counted_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = a_line(
        {"outcome": "unsatisfiable"},
        ADMIN,
        allocatedShares=["dev.lab.example/n1/d0/x"],
        allocatedCapacity={"dev.lab.example/n1/d0": {"memory": "4"}},
    )
    assert run(tmp_path, a_line(SHARED), a_line(CHARGED, ADMIN), refused) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 of 3 match, 2 differ deliberately"


def test_the_same_difference_without_the_reason_is_a_failure(tmp_path: Path) -> None:
    assert run(tmp_path, a_line({"outcome": "unsatisfiable"}, ADMIN)) == 1


@pytest.mark.parametrize("arguments", [[], ["nowhere.jsonl"], ["--failures"]])
def test_without_a_file_the_command_says_how_to_use_it(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "PATH" in capsys.readouterr().err


def test_a_line_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, a_line(SHARED), b"{}") == 2
    assert "vectors.jsonl:2:" in capsys.readouterr().err
