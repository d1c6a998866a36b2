"""Writes the parts of docs/ that follow from the code: events.md and lifecycle.md.

`python docs/generate.py` writes them, `--check` says whether they are up to date (exit code 1
if not). Nothing that a person should write belongs here.
"""

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dra_node_agent.core.lifecycle import TRANSITIONS
from dra_shared.events.envelope import Envelope, fact_types
from dra_shared.events.fact import Fact

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py from the code. Do not edit. -->\n\n"
WRITERS = {
    "nodes": "node-agent",
    "pools": "inventory",
    "cluster": "api-bridge",
    "claims": "api-bridge",
    "mirror": "api-bridge",
    "allocations": "allocator",
    "writers": "inventory, allocator, api-bridge",
}


def events() -> str:
    """One table row per fact, then its fields."""
    lines = ["# Events", "", NOTE.strip(), "", *_envelope(), "## Facts", ""]
    lines += ["| tag | written by | meaning |", "| --- | --- | --- |"]
    lines += [
        f"| [`{_tag(kind)}`](#{_anchor(kind)}) | {_writer(kind)} | {_first_line(kind)} |"
        for kind in fact_types()
    ]
    for kind in fact_types():
        lines += [
            "",
            f"## {_tag(kind)}",
            "",
            inspect.cleandoc(kind.__doc__ or ""),
            "",
            *_fields(kind),
        ]
    return "\n".join(lines) + "\n"


def lifecycle() -> str:
    """The life of a claim on a node, drawn from the table that the agent obeys."""
    lines = [
        "# The life of a claim on its node",
        "",
        NOTE.strip(),
        "",
        "```mermaid",
        "stateDiagram-v2",
    ]
    lines += [f"    {before} --> {after}: {step}" for (before, step), after in TRANSITIONS.items()]
    return "\n".join([*lines, "```", ""])


def _envelope() -> Iterator[str]:
    yield from ("## The envelope", "", inspect.cleandoc(Envelope.__doc__ or ""), "")
    yield from ("```json", '{"id": "…", "cause": 41, "correlation": "…", "actor": "allocator@7",')
    yield from (' "fact": {"tag": "claim.allocated.v1", "…": "…"}}', "```", "")


def _fields(kind: type[Fact]) -> Iterator[str]:
    yield from ("| field | type | |", "| --- | --- | --- |")
    for field in msgspec.structs.fields(kind):
        shown = inspect.formatannotation(field.type).replace("dra_shared.", "").replace("|", "\\|")
        yield f"| `{field.encode_name}` | `{shown}` | {'required' if field.required else 'optional'} |"


def _tag(kind: type[Fact]) -> str:
    return str(kind.__struct_config__.tag)


def _anchor(kind: type[Fact]) -> str:
    return _tag(kind).replace(".", "")


def _writer(kind: type[Fact]) -> str:
    return WRITERS[kind.__module__.rpartition(".")[2]]


def _first_line(kind: type[Fact]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]


def main() -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether they are up to date")
    check: bool = parser.parse_args().check
    stale = []
    for name, text in {"events.md": events(), "lifecycle.md": lifecycle()}.items():
        path = HERE / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.write_text(text)
    if check and stale:
        sys.stderr.write(f"out of date: {', '.join(stale)}; run ./dev fix\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
