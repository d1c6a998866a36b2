"""What the README of the package shows is true."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[3] / "cel" / "README.md"
FIRST, SECOND = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
SAID = re.findall(r"^(program\.\S+)  # (True|\d+)", FIRST, re.MULTILINE)


def test_the_first_example_gives_the_values_that_stand_beside_it() -> None:
    names: dict[str, Any] = {}
    exec(FIRST, names)
    assert len(SAID) == 3
    assert {text: str(eval(text, names)) for text, _ in SAID} == dict(SAID)


def test_the_second_example_reads_what_kubectl_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    devices = [{"name": "a", "attributes": {"index": {"int": 4}}}, {"name": "b"}]
    spec = {"driver": "gpu.example.com", "pool": {"name": "n1"}, "devices": devices}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"items": [{"spec": spec}]})))
    exec(SECOND, {})
    assert capsys.readouterr().out.splitlines() == ["n1 a False", "n1 b no such key: index"]
