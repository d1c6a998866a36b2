"""How fast selectors compile and answer, beside Kubernetes' own engine, in the same run.

    ./dev bench cel [--devices 10000] [--rounds 9] [--json]

The peer (peers/upstream_cel) is used in two ways. `scheduler`: as kube-scheduler does, which reads
a device anew for each question. `best`: the variables of all devices are made beforehand and only
the evaluation is measured; nobody but this benchmark uses it so. Ours reads a device once, which
is a row of its own, and is asked in two ways: `hot` as a selector is that was asked before, `first`
as one that was just compiled. Both times it is asked of all devices at once, as the allocator asks
it of a pool. The peer knows no such difference, and neither a way to ask of several.

Times are milliseconds of processor time (for the peer its collector's included), because they
hardly change when the machine is busy: medians over rounds in which the sides take turns. `clock`
is the same by the clock. Compiling is of expressions that differ in a word, as no cache knows them.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))

import msgspec
from sides import Side, build_peer

from kube_cel import Device, Environment, device_from

DRIVER: Final = "gpu.example.com"
ATTRIBUTES: Final = f'device.attributes["{DRIVER}"]'
MEMORY: Final = f'device.capacity["{DRIVER}"].memory'

SELECTORS: Final = {
    "class": f'device.driver == "{DRIVER}" && {ATTRIBUTES}.type == "gpu"',
    "model, memory": (
        f'{ATTRIBUTES}.model == "LATEST" && {MEMORY}.compareTo(quantity("40Gi")) >= 0'
    ),
    "version": f'{ATTRIBUTES}.driverVersion.isGreaterThan(semver("1.0.0"))',
    "list, prefix": f'{ATTRIBUTES}.model in ["LATEST", "H9"] && {ATTRIBUTES}.uuid.startsWith("GPU-")',
}
TYPICAL: Final = SELECTORS["model, memory"]
GOAL: Final = 2.0 / 10_000
"""Milliseconds for one device."""

COMPILED: Final = 200
"""Expressions that are compiled in one round."""

HEAD: Final = f"{'what':22} {'ours':>8} {'clock':>8} {'goal':>6} | {'sched':>9} {'x':>6} | {'best':>9} {'x':>6}"


class Turn(msgspec.Struct, frozen=True):
    """What one side took for one task: seconds, and how many devices fitted."""

    processor: float
    clock: float
    matches: int = 0


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The medians of one task in milliseconds; None where a side has no such task."""

    what: str
    goal: float | None = None
    ours: float
    clock: float
    scheduler: float | None = None
    best: float | None = None

    def line(self) -> str:
        """As the table shows it."""
        return (
            f"{self.what:22} {self.ours:>8.3f} {self.clock:>8.3f} {_number(self.goal, 6)}"
            f" | {_number(self.scheduler, 9)} {self._ratio(self.scheduler)}"
            f" | {_number(self.best, 9)} {self._ratio(self.best)}"
        )

    def _ratio(self, other: float | None) -> str:
        return _number(None if other is None else other / self.ours, 6)


def _number(value: float | None, width: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.3g}"


def described(count: int) -> list[dict[str, Any]]:
    """Devices as a slice has them: half of them of the newest model, two thirds with much memory."""
    return [
        {
            "name": f"gpu-{n}",
            "attributes": {
                "type": {"string": "gpu"},
                "model": {"string": "LATEST" if n % 2 else "OLD"},
                "uuid": {"string": f"GPU-{n:032x}"},
                "index": {"int": n % 8},
                "driverVersion": {"version": f"1.{n % 3}.0"},
            },
            "capacity": {"memory": {"value": "80Gi" if n % 3 else "16Gi"}},
        }
        for n in range(count)
    ]


def read(devices: list[dict[str, Any]]) -> list[Device]:
    """The devices as our engine takes them."""
    return [device_from(DRIVER, one["attributes"], one["capacity"]) for one in devices]


class Bench:
    """Both sides, with the same devices."""

    def __init__(self, devices: list[dict[str, Any]], peer: Side, rounds: int) -> None:
        self._described = devices
        self._devices = read(devices)
        self._peer = peer
        self._rounds = rounds
        self._fresh = 0

    def rows(self) -> Iterator[Row]:
        """All tasks, one after the other."""
        yield self._compiling()
        yield self._row("read the devices", lambda: _timed(lambda: len(read(self._described))))
        for name, text in SELECTORS.items():
            goal = len(self._devices) * GOAL if text is TYPICAL else None
            yield self._matching(f"{name}: hot", text, self._hot(text), goal)
        yield self._matching("model, memory: first", TYPICAL, lambda: self._asked(self._new()))

    def _compiling(self) -> Row:
        def ours() -> Turn:
            texts = self._texts()
            turn = _timed(lambda: len([Environment().compile(text) for text in texts]))
            return Turn(turn.processor / COMPILED, turn.clock / COMPILED)

        def scheduler() -> Turn:
            turn = self._ask(way="compile", expressions=self._texts())
            return Turn(turn.processor / COMPILED, turn.clock / COMPILED)

        return self._row("compile", ours, scheduler, goal=0.5)

    def _matching(
        self, what: str, text: str, ours: Callable[[], Turn], goal: float | None = None
    ) -> Row:
        def peer(way: str) -> Callable[[], Turn]:
            return lambda: self._ask(way=way, expressions=[text])

        return self._row(what, ours, peer("match"), peer("evaluate"), goal=goal)

    def _hot(self, text: str) -> Callable[[], Turn]:
        program = Environment().compile(text)
        program.answers(self._devices[:1000], program.matches)
        return lambda: self._asked(program)

    def _asked(self, program: Any) -> Turn:
        return _timed(lambda: sum(program.answers(self._devices, program.matches)))

    def _new(self) -> Any:
        self._fresh += 1
        return Environment().compile(TYPICAL + " " * self._fresh)

    def _texts(self) -> list[str]:
        self._fresh += 1
        return [TYPICAL.replace("LATEST", f"M-{self._fresh}-{n}") for n in range(COMPILED)]

    def _ask(self, **order: Any) -> Turn:
        answer = self._peer.ask(**order)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return msgspec.convert(answer, Turn)

    def _row(self, what: str, *sides: Callable[[], Turn], goal: float | None = None) -> Row:
        rounds = [[side() for side in sides] for _ in range(self._rounds)]
        if any(turn.matches != turns[0].matches for turns in rounds for turn in turns):
            message = f"{what}: the sides answer differently: {rounds[0]}"
            raise RuntimeError(message)
        ours, *others = zip(*rounds, strict=True)
        peers = [_median(turn.processor for turn in turns) for turns in others]
        return Row(
            what=what,
            goal=goal,
            ours=_median(turn.processor for turn in ours),
            clock=_median(turn.clock for turn in ours),
            **dict(zip(("scheduler", "best"), peers, strict=False)),
        )


def _timed(task: Callable[[], int]) -> Turn:
    clock, processor = time.perf_counter(), time.process_time()
    matches = task()
    return Turn(time.process_time() - processor, time.perf_counter() - clock, matches)


def _median(seconds: Iterator[float]) -> float:
    return statistics.median(seconds) * 1000


def measure(count: int, rounds: int) -> Iterator[Row]:
    """Builds and starts the peer, and lets the sides take turns."""
    devices = described(count)
    with tempfile.NamedTemporaryFile(prefix="devices-", suffix=".json") as file:
        Path(file.name).write_bytes(msgspec.json.encode({"driver": DRIVER, "devices": devices}))
        with Side([str(build_peer("upstream_cel")), file.name]) as peer:
            yield from Bench(devices, peer, rounds).rows()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--devices", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.devices, options.rounds)
    if options.json:
        print(msgspec.json.encode(list(rows)).decode())
        return
    print(f"ms of processor time, {options.devices:,} devices, load {os.getloadavg()[0]:.1f}")
    print(HEAD, flush=True)
    for row in rows:
        print(row.line(), flush=True)


if __name__ == "__main__":
    main()
