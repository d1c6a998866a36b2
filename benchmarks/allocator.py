"""How fast the allocator decides: one-device claims on nodes of eight devices, at several fills.

    python benchmarks/allocator.py [--nodes 100,1000,10000] [--fill 0,50,95] [--decisions 2000] [--json]

A decision is `Engine.next`: choosing the node, the search, the fact, and taking it into the state.
The first one of its kind also builds the index (`first`). The cycle around decisions is measured
too: claim and pod come, are decided, go, and are settled. The fill stays the same: each claim is
given back before the next one comes. Rates are per second of processor time, so that a busy machine
does not show; p50 and p99 are by the clock. No log, no network.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from cluster import a_claim, a_class, a_node, a_pod, a_pool, a_record, a_request, ended, gone

from dra_allocator.core.engine import Engine
from dra_allocator.core.replay import new_state
from dra_shared.events.allocations import ClaimAllocated
from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.kube.claims import DeviceRequest
from dra_shared.kube.devices import Device, DeviceAttribute, DeviceCapacity

DEVICES = 8
HEAD = (
    f"{'shape':9} {'nodes':>6} {'fill':>5} {'decisions/s':>12} {'p50 us':>8} {'p99 us':>8} "
    f"{'first ms':>9} {'cycles/s':>9}"
)


class Result(NamedTuple):
    """One line of the table; p50 and p99 in microseconds, `first` in milliseconds."""

    shape: str
    nodes: int
    fill: int
    decisions_per_second: float
    p50: float
    p99: float
    first: float
    cycles_per_second: float


class Bench:
    """An allocator with a cluster in it."""

    def __init__(self, nodes: int, fill: int) -> None:
        self.engine = Engine(new_state(), "pack")
        self._sequence = 0
        self.tell(a_class())
        for number in range(nodes):
            name = f"node-{number:05}"
            self.tell(a_node(name, pods=1000), a_pool(name, [_device(n) for n in range(DEVICES)]))
        self._fill(nodes * DEVICES * fill // 100)

    def tell(self, *facts: AnyFact) -> None:
        """Facts of others come in."""
        for fact in facts:
            self._sequence += 1
            envelope = Envelope(id=f"b:{self._sequence}", actor="bench", fact=fact)
            self.engine.take(a_record(envelope, self._sequence))

    def decide(self) -> Envelope:
        """The next decision."""
        envelope = self.engine.next(1)
        assert envelope is not None
        return envelope

    def come_back(self, envelope: Envelope) -> None:
        """A decision stands in the log."""
        self._sequence += 1
        self.engine.take(a_record(envelope, self._sequence))

    def _fill(self, count: int) -> None:
        for number in range(count):
            self.tell(a_claim(f"f{number}"), a_pod(f"f{number}", f"f{number}"))
            self.come_back(self.decide())


def _device(number: int) -> Device:
    return Device(
        name=f"gpu-{number}",
        attributes={
            "model": DeviceAttribute(string="LATEST-GPU"),
            "numa": DeviceAttribute(integer=number // 4),
        },
        capacity={"memory": DeviceCapacity(value="80Gi")},
    )


SHAPES: dict[str, tuple[DeviceRequest, str]] = {
    "plain": (a_request(), ""),
    "selector": (
        a_request(
            "r",
            1,
            'device.attributes["dev.lab.example"].model == "LATEST-GPU" && '
            'device.capacity["dev.lab.example"].memory.compareTo(quantity("40Gi")) >= 0',
        ),
        "",
    ),
    "match": (a_request("r", 4), "dev.lab.example/numa"),
}


def measure(shape: str, nodes: int, fill: int, decisions: int) -> Result:
    """Decides so many claims of one shape, one after the other."""
    bench = Bench(nodes, fill)
    first = _cycle(bench, shape, "first")
    gc.collect()
    gc.freeze()
    started = time.thread_time_ns()
    times = [_cycle(bench, shape, f"c{number}") for number in range(decisions)]
    whole = time.thread_time_ns() - started
    gc.unfreeze()
    clock = sorted(taken.clock for taken in times)
    return Result(
        shape=shape,
        nodes=nodes,
        fill=fill,
        decisions_per_second=round(decisions / sum(taken.processor for taken in times) * 1e9, 1),
        p50=round(clock[decisions // 2] / 1000, 1),
        p99=round(clock[decisions * 99 // 100] / 1000, 1),
        first=round(first.clock / 1e6, 1),
        cycles_per_second=round(decisions / whole * 1e9, 1),
    )


class Taken(NamedTuple):
    """What one decision took, in nanoseconds."""

    clock: int
    processor: int


def _cycle(bench: Bench, shape: str, name: str) -> Taken:
    """A claim and its pod come, are decided, and go."""
    request, match = SHAPES[shape]
    bench.tell(a_claim(name, request, match=match), a_pod(name, name))
    processor, clock = time.thread_time_ns(), time.perf_counter_ns()
    envelope = bench.decide()
    taken = Taken(time.perf_counter_ns() - clock, time.thread_time_ns() - processor)
    assert isinstance(envelope.fact, ClaimAllocated), envelope.fact
    bench.come_back(envelope)
    bench.tell(ended(name), gone(name))
    bench.come_back(bench.decide())
    return taken


def results(arguments: Any) -> Iterator[Result]:
    """All combinations that were asked for."""
    for shape in arguments.shapes.split(","):
        for nodes in map(int, arguments.nodes.split(",")):
            for fill in map(int, arguments.fill.split(",")):
                yield measure(shape, nodes, fill, arguments.decisions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--shapes", default="plain,selector,match")
    parser.add_argument("--nodes", default="100,1000,10000")
    parser.add_argument("--fill", default="0,50,95")
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    if not arguments.json:
        print(HEAD)
    for result in results(arguments):
        if arguments.json:
            print(json.dumps(result._asdict()), flush=True)
        else:
            print(
                f"{result.shape:9} {result.nodes:>6} {result.fill:>4}% "
                f"{result.decisions_per_second:>12,.0f} {result.p50:>8,.1f} {result.p99:>8,.1f} "
                f"{result.first:>9,.1f} {result.cycles_per_second:>9,.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
