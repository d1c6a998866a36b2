"""
Compares the CEL engine with recorded answers: ``python tests/vectors/cel.py PATH [--failures]``.

PATH is a file of JSON lines, each an expression, a device, and what Kubernetes' own engine
answered: outcome, greatest cost, actual cost. Exits 0 only if every line is answered alike.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from kube_cel import CompileError, Environment, EvaluationError, NotBooleanError, device_from

Answer = dict[str, str]
DELIBERATE: dict[str, str] = {}
"""Lines that are answered otherwise on purpose, by name, with the reason."""


def environment(line: dict[str, Any]) -> Environment:
    features = line["features"]
    return Environment(
        stored=line["environment"] == "stored",
        list_attributes="DRAListTypeAttributes" in features,
        consumable_capacity="!DRAConsumableCapacity" not in features,
    )


def answer(line: dict[str, Any]) -> Answer:
    try:
        program = environment(line).compile(line["expression"])
    except CompileError as error:
        return {"outcome": "compile-error", "error": error.message, "errorType": error.kind}
    found: Answer = {"estimatedCost": str(program.estimated_cost)}
    shape = line["device"]
    try:
        device = device_from(
            shape["driver"],
            shape.get("attributes", {}),
            shape.get("capacity", {}),
            allow_multiple_allocations=shape.get("allowMultipleAllocations"),
        )
    except EvaluationError as error:
        return found | {"outcome": "runtime-error", "error": error.message}
    try:
        outcome = program.evaluate(device)
        found["actualCost"] = str(outcome.cost)
        matched = program.matches(device)
    except NotBooleanError as error:
        return found | {"outcome": "runtime-error", "error": error.message}
    except EvaluationError as error:
        found["actualCost"] = str(error.cost)
        return found | {"outcome": "runtime-error", "error": error.message}
    return found | {"outcome": "true" if matched else "false"}


def differences(line: dict[str, Any]) -> list[str]:
    expected, found = line["expected"], answer(line)
    return [
        f"{field}: {found.get(field)} instead of {expected[field]}"
        for field in ("outcome", "errorType", "estimatedCost", "actualCost")
        if field in expected and expected[field] != found.get(field)
    ]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("path", type=Path, help="a file of JSON lines with answers")
    arguments.add_argument("--failures", action="store_true", help="show each difference")
    chosen = arguments.parse_args()
    lines = [json.loads(text) for text in chosen.path.read_text().splitlines()]
    failed, deliberate, groups = 0, 0, Counter[str]()
    for line in lines:
        wrong = differences(line)
        if not wrong:
            continue
        if line["name"] in DELIBERATE:
            deliberate += 1
            continue
        failed += 1
        groups[line["group"]] += 1
        if chosen.failures:
            print(f"{line['name']}: {line['expression'][:200]!r}: {'; '.join(wrong)}")
    for group, count in groups.most_common():
        print(f"{group}: {count} differ")
    matched = f"{len(lines) - failed - deliberate} of {len(lines)} match"
    print(f"{matched}, {deliberate} differ deliberately" if deliberate else matched)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
