"""What allocator_against_upstream.py measured, as a table for people and as a picture.

    uv run --with matplotlib python benchmarks/allocator_report.py RESULTS.jsonl TABLE.md PLOT.png

Matplotlib is needed here alone and is no dependency of the project. The table is without words
around it: what was found is written by who looked at it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from kinds import KINDS
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

FILL = 50
SIDES = {
    "ours": ("dra-ledger", "tab:blue", "o"),
    "scheduler": ("upstream, as kube-scheduler uses it", "tab:red", "s"),
    "best": ("upstream, built once (best case)", "tab:gray", "^"),
}


def rows(path: Path) -> list[dict[str, Any]]:
    """The measured rows, one JSON object a line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def draw(axes: Axes, kind: str, measured: list[dict[str, Any]]) -> None:
    """One kind of claim: a line for each side."""
    for side, (label, color, marker) in SIDES.items():
        points = sorted(
            (row["workload"]["nodes"], row[side]["per_second"])
            for row in measured
            if row["workload"]["kind"] == kind and row[side] is not None
        )
        axes.plot(*zip(*points, strict=True), color=color, marker=marker, label=label)
    axes.set(xscale="log", yscale="log", title=KINDS[kind].title, xlabel="nodes of 8 devices")
    axes.grid(visible=True, which="major", alpha=0.3)


def table(measured: list[dict[str, Any]]) -> str:
    """All rows in Markdown, by kind and size."""
    heads = (
        "claim", "nodes", "in use", "ours/s", "p50 us", "p99 us", "as scheduler/s", "p50 us",
        "p99 us", "nodes tried", "built once/s", "ratio", "ratio by the clock", "ratio to built once",
        "MB ours", "MB peer", "load",
    )  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|---" * 3 + "|--:" * (len(heads) - 3) + "|"]
    kinds = list(KINDS)
    ordered = sorted(measured, key=lambda row: _key(row, kinds))
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in ordered]
    return "\n".join(lines) + "\n"


def _key(row: dict[str, Any], kinds: list[str]) -> tuple[int, int]:
    return kinds.index(row["workload"]["kind"]), row["workload"]["nodes"]


def _cells(row: dict[str, Any]) -> list[str]:
    of, mine, other, best = row["workload"], row["ours"], row["scheduler"], row["best"]
    fill = f"{of['fill']} % {of['order']}" if of["fill"] else "0 %"
    use = {"steady": fill, "churn": f"{of['fill']} %, claims come and go", "fill": "0 to 100 %"}
    return [
        of["kind"],
        f"{of['nodes']:,}",
        use[row["mode"]] + ("" if other["complete"] or row["mode"] != "fill" else " (cut)"),
        *(f"{value:,.0f}" for value in (mine["per_second"], mine["p50"], mine["p99"])),
        *(f"{value:,.0f}" for value in (other["per_second"], other["p50"], other["p99"])),
        f"{other['nodes_tried']:.1f}",
        "-" if best is None else f"{best['per_second']:,.0f}",
        f"**{mine['per_second'] / other['per_second']:.1f}**",
        f"{mine['clock_per_second'] / other['clock_per_second']:.1f}",
        "-" if best is None else f"{mine['per_second'] / best['per_second']:.2f}",
        *(f"{value:.0f}" for value in (mine["rss_mb"], other["rss_mb"], row["load"])),
    ]


def plot(measured: list[dict[str, Any]], target: Path) -> None:
    """Decisions per second over the size of the cluster, for each kind of claim."""
    steady = [
        row
        for row in measured
        if row["mode"] == "steady"
        and row["workload"]["fill"] == FILL
        and row["workload"]["order"] == "round-robin"
    ]
    mpl.use("Agg")
    figure, every = plt.subplots(2, 3, figsize=(13, 7.5), sharey=True)
    places = list(every.flat)
    for kind, axes in zip(KINDS, places, strict=False):
        draw(axes, kind, steady)
    for row in every:
        row[0].set_ylabel("decisions per second of processor time")
    places[-1].axis("off")
    handles, labels = places[0].get_legend_handles_labels()
    places[-1].legend(handles, labels, loc="center", frameon=False)
    figure.suptitle(f"Allocation decisions, {FILL} % of the devices in use")
    figure.tight_layout()
    figure.savefig(target, dpi=110)


def main() -> None:
    source, text, picture = map(Path, sys.argv[1:])
    measured = rows(source)
    text.write_text(table(measured))
    plot(measured, picture)


if __name__ == "__main__":
    main()
