"""How fast kube-scheduler itself allocates devices: the peer our own path is held against.

The workload is the plainest DRA there is: pods with one claim each, from a template, for one
device of a class; nodes with the same number of devices. All pods and their claims exist before
the scheduler starts, so that nothing but allocating, reserving and binding is timed.

`open_stage` and `Bindings` serve any contestant; `measure` is this one. Nothing here may use
dra-ledger's services.

    PYTHONPATH=tests python -m benchmarks.peers.scheduler_dra --nodes 200 --nodes 1000 --json
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import msgspec

from e2e.controlplane import ControlPlane, Options, Part, eventually
from e2e.controlplane.objects import a_claim_template, a_class, a_pod, a_slice, from_template

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
PODS = "/api/v1/namespaces/default/pods"
QPS = 5000  # no client-side limit
DEADLINE_SECONDS = 600.0


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes, devices on each, and pods."""

    nodes: int
    pods: int = 1000
    devices_per_node: int = 8


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What one run showed. Times in seconds, on the wall clock; CPU by part of the control plane.

    `seconds` runs from the first allocation written to the last pod bound, as a client's watch
    sees them, and `pods_per_second` is taken over it. `seconds_with_start` runs from the moment
    the contestant's process was started.
    """

    contestant: str
    workload: Workload
    pods_per_second: float
    seconds: float
    seconds_with_start: float
    cpu_seconds: dict[str, float]
    cpus: int


class Bindings:
    """Sees pods being bound and the first allocation being written, from a watch of its own."""

    def __init__(self, plane: ControlPlane, pods: int) -> None:
        self._plane = plane
        self._pods = pods
        self.first_allocation = 0.0
        self.last_binding = 0.0

    async def watch(self) -> None:
        """Returns when all pods are bound. Times are of the monotonic clock."""
        await asyncio.gather(self._watch_claims(), self._watch_pods())

    async def _watch_claims(self) -> None:
        async with aclosing(self._plane.watch(CLAIMS)) as events:
            async for event in events:
                if "allocation" in event["object"].get("status", {}):
                    self.first_allocation = time.monotonic()
                    return

    async def _watch_pods(self) -> None:
        bound = set()
        async with aclosing(self._plane.watch(f"{PODS}?fieldSelector=spec.nodeName!=")) as events:
            async for event in events:
                bound.add(event["object"]["metadata"]["name"])
                if len(bound) == self._pods:
                    self.last_binding = time.monotonic()
                    return


@asynccontextmanager
async def open_stage(workload: Workload) -> AsyncIterator[ControlPlane]:
    """A control plane with nodes, slices and a class, but neither scheduler nor pods."""
    parts = frozenset(Part) - {Part.SCHEDULER}
    async with ControlPlane(Options(parts=parts, kube_api_qps=QPS)) as plane:
        names = [f"node-{index}" for index in range(workload.nodes)]
        await plane.api("POST", "/apis/resource.k8s.io/v1/deviceclasses", a_class())
        await plane.api("POST", TEMPLATES, a_claim_template("one-device"))
        await asyncio.gather(*(plane.add_node(name) for name in names))
        slices = (a_slice(name, workload.devices_per_node) for name in names)
        path = "/apis/resource.k8s.io/v1/resourceslices"
        await asyncio.gather(*(plane.api("POST", path, each) for each in slices))
        yield plane


async def create_pods(plane: ControlPlane, workload: Workload) -> None:
    """Creates the workload's pods and waits until each has its claim."""
    wanted = [from_template("gpu", "one-device")]
    pods = (a_pod(f"pod-{index}", wanted) for index in range(workload.pods))
    await asyncio.gather(*(plane.api("POST", PODS, pod) for pod in pods))

    async def all_there() -> bool:
        return len((await plane.api("GET", CLAIMS))["items"]) >= workload.pods

    await eventually("each pod has its claim", all_there, seconds=DEADLINE_SECONDS, every=0.5)


def cpu_seconds(plane: ControlPlane, parts: frozenset[Part]) -> dict[str, float]:
    """CPU time that each part has used since it started."""
    return {part.value: cpu_seconds_of(plane.pid(part)) for part in sorted(parts)}


def cpu_seconds_of(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(workload: Workload) -> Measured:
    """One run of kube-scheduler's own DRA on a fresh control plane."""
    async with open_stage(workload) as plane:
        await create_pods(plane, workload)
        before = cpu_seconds(plane, plane.options.parts)
        bindings = Bindings(plane, workload.pods)
        started = time.monotonic()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.gather(bindings.watch(), plane.start(Part.SCHEDULER))
        after = cpu_seconds(plane, frozenset(Part))
    seconds = bindings.last_binding - bindings.first_allocation
    return Measured(
        contestant="kube-scheduler DRA",
        workload=workload,
        pods_per_second=round(workload.pods / seconds, 1),
        seconds=round(seconds, 2),
        seconds_with_start=round(bindings.last_binding - started, 2),
        cpu_seconds={part: round(used - before.get(part, 0.0), 2) for part, used in after.items()},
        cpus=os.cpu_count() or 1,
    )


def parse(words: list[str]) -> tuple[list[Workload], bool]:
    """The workloads asked for, and whether to answer in JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.scheduler_dra")
    parser.add_argument("--nodes", type=int, action="append", help="200 and 1000 unless given")
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--devices", type=int, default=8, help="devices on each node")
    parser.add_argument("--json", action="store_true", help="one JSON list")
    given = parser.parse_args(words)
    workloads = [
        Workload(nodes=nodes, pods=given.pods, devices_per_node=given.devices)
        for nodes in given.nodes or [200, 1000]
    ]
    return workloads, given.json


def main() -> None:
    workloads, as_json = parse(sys.argv[1:])
    results = [asyncio.run(measure(workload)) for workload in workloads]
    if as_json:
        print(msgspec.json.encode(results).decode())
        return
    for result in results:
        size = result.workload
        print(
            f"{result.contestant}: {size.pods} pods on {size.nodes} nodes x "
            f"{size.devices_per_node} devices: {result.pods_per_second} pods/s "
            f"({result.seconds} s, {result.seconds_with_start} s from its start)"
        )


if __name__ == "__main__":
    main()
