"""How fast our allocator decides: one claim after the other, for each kind of claim and fill.

    python benchmarks/allocator.py [--kinds plain,match] [--nodes 1000] [--fill 0,50,95] [--json]

A decision is `Engine.next`: choosing the node, the search, the fact, and taking it into the state.
The first one of its kind also builds the index (`first`). The cycle around decisions is measured
too: claim and pod come, are decided, go, and are settled. Rates are per second of processor time,
so that a busy machine does not show; p50 and p99 are by the clock. No log, no network.

With `--serve WORKLOAD` it is one side of allocator_against_upstream.py: it obeys the same orders
as the peer (peers/upstream_allocator/bench.go says what they mean) and answers in the same shape.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from kinds import KINDS
from workloads import SEED, Workload, cluster_facts, demand_facts, held, held_facts

from dra_allocator.core.engine import Engine
from dra_allocator.core.replay import new_state
from dra_allocator.edge.garbage import collect_seldom
from dra_shared.events.allocations import ClaimAllocated, ClaimUnsatisfiable
from dra_shared.events.claims import ClaimWithdrawn, PodWithdrawn
from dra_shared.events.envelope import AnyFact, Envelope, decode, encode
from dra_shared.events.subjects import subject
from dra_shared.log.protocol import Record

POLICY = "pack"
APART = 1_000_000
"""Nanoseconds from one record to the next."""
HEAD = (
    f"{'kind':10} {'nodes':>6} {'fill':>5} {'decisions/s':>12} {'p50 us':>8} {'p99 us':>8} "
    f"{'longest':>9} {'first ms':>9} {'cycles/s':>9} {'RSS MB':>7}"
)


class Order(msgspec.Struct, kw_only=True):
    """What to measure: so many decisions, or so many seconds of them.

    Mode `steady` gives each claim back at once, `churn` a random one before each decision, `fill`
    none until nothing fits any more.
    """

    mode: str = "steady"
    decisions: int = 2000
    seconds: float = 60.0


class Answer(msgspec.Struct, kw_only=True):
    """What was measured. p50 to longest in microseconds, the rest in seconds.

    `busy` and `processor`: of all decisions; `cycles`: processor time with all that surrounds them.
    """

    decisions: int
    busy: float
    processor: float
    cycles: float
    p50: float
    p99: float
    longest: float
    complete: bool
    rss_mb: float


class Taken(msgspec.Struct):
    """What one decision took, in nanoseconds."""

    clock: int
    processor: int


class Bench:
    """An allocator with a cluster in it."""

    def __init__(self, workload: Workload) -> None:
        self.kind = workload.kind
        self.engine = Engine(new_state(), POLICY)
        self._sequence = 0
        self._name = 0
        self._chance = random.Random(SEED)
        self.tell(cluster_facts(workload))
        self.tell(held_facts(workload))
        self._live = [one.name for one in held(workload)]
        self._settle()
        collect_seldom()

    def tell(self, facts: Iterable[AnyFact]) -> None:
        """Facts come out of the log, as bytes: so they share nothing with each other."""
        for fact in facts:
            at = self._sequence
            envelope = Envelope(id=f"bench:{at}", cause=at, actor="bench", fact=fact)
            self._take(decode(encode(envelope)))

    def run(self, order: Order) -> Answer:
        """Decides by the order, which leaves as many claims as there were."""
        before = len(self._live)
        taken: list[Taken] = []
        complete = order.mode != "fill"
        started, deadline = time.process_time_ns(), time.monotonic() + order.seconds
        while len(taken) < order.decisions and time.monotonic() < deadline:
            if order.mode == "churn":
                self._give_back(self._chance.randrange(len(self._live)))
            one = self._decide()
            if one is None:
                complete = True
                break
            taken.append(one)
            if order.mode == "steady":
                self._give_back(-1)
        cycles = time.process_time_ns() - started
        while len(self._live) > before:
            self._give_back(-1)
        return _answer(taken, cycles / 1e9, complete=complete)

    def _decide(self) -> Taken | None:
        """A claim and its pod come and are decided; None if nothing fits, and they are gone again."""
        self._name += 1
        name = f"new-{self._name}"
        self.tell(demand_facts(self.kind, name))
        processor, clock = time.process_time_ns(), time.perf_counter_ns()
        envelope = self.engine.next(1)
        taken = Taken(time.perf_counter_ns() - clock, time.process_time_ns() - processor)
        assert envelope is not None
        self._take(envelope)
        self._live.append(name)
        if isinstance(envelope.fact, ClaimUnsatisfiable):
            self._give_back(-1)
            return None
        assert isinstance(envelope.fact, ClaimAllocated), envelope.fact
        return taken

    def _give_back(self, place: int) -> None:
        """The pod ends, its claim is deleted, and the allocator says that it is released."""
        self._live[place], self._live[-1] = self._live[-1], self._live[place]
        claim, pod = demand_facts(self.kind, self._live.pop())
        self.tell((PodWithdrawn(pod=pod.pod), ClaimWithdrawn(claim=claim.claim)))
        self._settle()

    def _settle(self) -> None:
        while (envelope := self.engine.next(1)) is not None:
            self._take(envelope)

    def _take(self, envelope: Envelope) -> None:
        self._sequence += 1
        at = self._sequence
        self.engine.take(Record(at, at * APART, subject(envelope.fact), envelope))


def resident_megabytes() -> float:
    """The memory of this process that is in use."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    message = "/proc/self/status has no VmRSS"
    raise RuntimeError(message)


def _answer(taken: list[Taken], cycles: float, *, complete: bool) -> Answer:
    clock = sorted(one.clock for one in taken)
    return Answer(
        decisions=len(taken),
        busy=sum(clock) / 1e9,
        processor=sum(one.processor for one in taken) / 1e9,
        cycles=cycles,
        p50=clock[len(clock) // 2] / 1e3,
        p99=clock[len(clock) * 99 // 100] / 1e3,
        longest=clock[-1] / 1e3,
        complete=complete,
        rss_mb=resident_megabytes(),
    )


def serve(workload: Workload) -> None:
    """Says when it is ready, then answers one order a line."""
    started = time.perf_counter()
    bench = Bench(workload)
    ready = {"seconds": time.perf_counter() - started, "rss_mb": resident_megabytes()}
    print(msgspec.json.encode(ready).decode(), flush=True)
    for line in sys.stdin:
        answer = bench.run(msgspec.json.decode(line, type=Order))
        print(msgspec.json.encode(answer).decode(), flush=True)


def lines(arguments: argparse.Namespace) -> Iterator[tuple[Workload, Answer, Answer]]:
    """For all combinations that were asked for: the first decision alone, and the others."""
    for kind in arguments.kinds.split(","):
        for nodes in map(int, arguments.nodes.split(",")):
            for fill in map(int, arguments.fill.split(",")):
                workload = Workload(kind=kind, nodes=nodes, fill=fill, order=arguments.order)
                bench = Bench(workload)
                first = bench.run(Order(decisions=1))
                yield workload, first, bench.run(Order(decisions=arguments.decisions))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--nodes", default="100,1000,10000")
    parser.add_argument("--fill", default="0,50,95")
    parser.add_argument("--order", default="round-robin", choices=("round-robin", "random"))
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--serve", metavar="WORKLOAD", help="a workload as JSON")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(msgspec.json.decode(arguments.serve, type=Workload))
        return
    if not arguments.json:
        print(HEAD)
    for workload, first, rest in lines(arguments):
        if arguments.json:
            whole = {**msgspec.to_builtins(workload), "first": first.longest, "measured": rest}
            print(msgspec.json.encode(whole).decode(), flush=True)
        else:
            print(
                f"{workload.kind:10} {workload.nodes:>6} {workload.fill:>4}% "
                f"{rest.decisions / rest.processor:>12,.0f} {rest.p50:>8,.1f} {rest.p99:>8,.1f} "
                f"{rest.longest:>9,.0f} {first.longest / 1000:>9,.1f} "
                f"{rest.decisions / rest.cycles:>9,.0f} {rest.rss_mb:>7,.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
