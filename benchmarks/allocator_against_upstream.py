"""Our allocator against Kubernetes' own, on the same clusters and claims, in the same run.

    python benchmarks/allocator_against_upstream.py [--nodes 100,1000] [--kinds plain] [--json FILE]
        [--python COMMAND]

The peer (peers/upstream_allocator) is used in two ways. `scheduler`: as kube-scheduler does, the
allocated state is copied and the allocator built for each pod, and nodes are tried from a rotating
start until one fits. `best`: built once, its caller changes the state that it holds; nobody
promises that this works, and with shared counters it does not, unless every claim is given back
before the next. Sides take turns; shown are medians over the rounds.

Decisions per second are per second of processor time (for the peer its collector's included),
because they hardly change when the machine is busy; p50 and p99 are by the clock and do, and so
does the second ratio, `clock`, where the peer's collector has a core of its own. One decision is: a
free place is found and taken. Making or reading the claim's object is in neither.
"""

import argparse
import itertools
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from kinds import KINDS
from sides import build_peer, ours, peer
from workloads import Workload

WAYS: Final = ("scheduler", "best")
MOST_FILLED: Final = 1000
"""Nodes of the largest cluster that is filled up: the peer would need a quarter of an hour for more."""

HEAD: Final = (
    f"{'kind':10} {'nodes':>6} {'fill':>5} {'order':11} {'mode':6}"
    f" | {'ours/s':>8} {'p50':>7} {'p99':>7}"
    f" | {'sched/s':>8} {'p50':>8} {'p99':>8} {'tried':>5}"
    f" | {'best/s':>8} {'p50':>7} {'p99':>7}"
    f" | {'x sched':>8} {'clock':>8} {'x best':>6} | {'MB':>4} {'MB':>4} {'load':>4}"
)
STATISTICS: Final = ("per_second", "clock_per_second", "p50", "p99", "longest", "rss_mb")


class Limits(msgspec.Struct, frozen=True):
    """How much is measured in one turn of one side, how many rounds there are, and our interpreter."""

    decisions: int
    seconds: float
    rounds: int
    python: str


class Row(msgspec.Struct, kw_only=True):
    """The medians of one workload; `best` is None where the peer cannot be used so."""

    workload: Workload
    mode: str
    ours: dict[str, Any]
    scheduler: dict[str, Any] | None
    best: dict[str, Any] | None
    load: float

    def ratio(self, way: str, rate: str = "per_second") -> float | None:
        """How often ours decides while the peer, used this way, decides once."""
        other: dict[str, Any] | None = getattr(self, way)
        return None if other is None else float(self.ours[rate] / other[rate])


def plan(arguments: argparse.Namespace) -> Iterator[tuple[Workload, str]]:
    """What is measured: all fills of all sizes, then claims that come and go, then filling up."""
    fills = [int(fill) for fill in arguments.fill.split(",")]
    modes = arguments.modes.split(",")
    sizes = (int(nodes) for nodes in arguments.nodes.split(","))
    for nodes, kind in itertools.product(sizes, arguments.kinds.split(",")):
        if "steady" in modes:
            yield from ((workload, "steady") for workload in _steady(kind, nodes, fills))
        if "churn" in modes:
            yield Workload(kind=kind, nodes=nodes, fill=90, order="random"), "churn"
        if "fill" in modes and nodes <= MOST_FILLED:
            yield Workload(kind=kind, nodes=nodes), "fill"


def _steady(kind: str, nodes: int, fills: list[int]) -> Iterator[Workload]:
    for fill in fills:
        yield Workload(kind=kind, nodes=nodes, fill=fill)
        if fill:
            yield Workload(kind=kind, nodes=nodes, fill=fill, order="random")


def measure(workload: Workload, mode: str, limits: Limits) -> Row:
    """Starts both sides and lets them take turns."""
    turns: dict[str, list[dict[str, Any]]] = {"ours": [], "scheduler": [], "best": []}
    with ours(workload, limits.python) as we, peer(workload) as they:
        sides = {"ours": we, "scheduler": they, "best": they}
        for side, one in sides.items():
            one.ask(way=side, mode="steady", decisions=1, seconds=limits.seconds)
        for _ in range(limits.rounds):
            for side, one in sides.items():
                answer = one.ask(way=side, mode=mode, **_amount(mode, limits))
                if answer.get("decisions"):
                    turns[side].append(answer)
        ready = {"ours": we.ready, "scheduler": they.ready, "best": they.ready}
    medians = {side: _medians(got, ready[side]) for side, got in turns.items()}
    own = medians["ours"]
    assert own is not None
    return Row(
        workload=workload,
        mode=mode,
        ours=own,
        scheduler=medians["scheduler"],
        best=medians["best"],
        load=os.getloadavg()[0],
    )


def _amount(mode: str, limits: Limits) -> dict[str, Any]:
    if mode == "fill":
        return {"decisions": 10**9, "seconds": 15 * limits.seconds}
    return {"decisions": limits.decisions, "seconds": limits.seconds}


def _medians(turns: list[dict[str, Any]], ready: dict[str, Any]) -> dict[str, Any] | None:
    if not turns:
        return None
    for turn in turns:
        turn["per_second"] = turn["decisions"] / turn["processor"]
        turn["clock_per_second"] = turn["decisions"] / turn["busy"]
    return {
        **{name: statistics.median(turn[name] for turn in turns) for name in STATISTICS},
        "lowest": min(turn["per_second"] for turn in turns),
        "highest": max(turn["per_second"] for turn in turns),
        "decisions": sum(turn["decisions"] for turn in turns),
        "nodes_tried": statistics.median(turn.get("nodes_tried", 0.0) for turn in turns),
        "cycles_per_second": statistics.median(
            turn["decisions"] / turn.get("cycles", turn["processor"]) for turn in turns
        ),
        "complete": all(turn["complete"] for turn in turns),
        "start_seconds": ready["seconds"],
        "start_rss_mb": ready["rss_mb"],
    }


def line(row: Row) -> str:
    """The row as the table shows it."""
    of, scheduler = row.workload, row.scheduler or {}
    return (
        f"{of.kind:10} {of.nodes:>6} {of.fill:>4}% {of.order if of.fill else '-':11} {row.mode:6}"
        f" | {_rate(row.ours)} {row.ours['p50']:>7,.0f} {row.ours['p99']:>7,.0f}"
        f" | {_rate(row.scheduler)} {_time(row.scheduler, 'p50', 8)} {_time(row.scheduler, 'p99', 8)}"
        f" {scheduler.get('nodes_tried', 0):>5.1f}"
        f" | {_rate(row.best)} {_time(row.best, 'p50', 7)} {_time(row.best, 'p99', 7)}"
        f" | {_times(row.ratio('scheduler'), 8)}"
        f" {_times(row.ratio('scheduler', 'clock_per_second'), 8)}"
        f" {_times(row.ratio('best'), 6)}"
        f" | {row.ours['rss_mb']:>4.0f} {scheduler.get('rss_mb', 0):>4.0f} {row.load:>4.1f}"
    )


def _rate(side: dict[str, Any] | None) -> str:
    return f"{'-':>8}" if side is None else f"{side['per_second']:>8,.0f}"


def _time(side: dict[str, Any] | None, name: str, width: int) -> str:
    return f"{'-':>{width}}" if side is None else f"{side[name]:>{width},.0f}"


def _times(ratio: float | None, width: int) -> str:
    return f"{'-':>{width}}" if ratio is None else f"{ratio:>{width},.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--nodes", default="100,1000,10000")
    parser.add_argument("--fill", default="0,50,95")
    parser.add_argument("--modes", default="steady,churn,fill")
    parser.add_argument("--decisions", type=int, default=2000, help="at most, in one turn")
    parser.add_argument("--seconds", type=float, default=2.0, help="at most, in one turn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="the command that starts Python for our side, which finds our packages by PYTHONPATH",
    )
    parser.add_argument("--json", type=Path, help="a file for one JSON object a line")
    arguments = parser.parse_args()
    build_peer()
    limits = Limits(arguments.decisions, arguments.seconds, arguments.rounds, arguments.python)
    print(f"times in us; {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    print(HEAD, flush=True)
    started = time.monotonic()
    for workload, mode in plan(arguments):
        row = measure(workload, mode, limits)
        print(line(row), flush=True)
        if arguments.json:
            with arguments.json.open("ab") as file:
                file.write(msgspec.json.encode(row) + b"\n")
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
