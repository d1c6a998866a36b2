"""From a created claim to a bound pod on a real control plane: ours against kube-scheduler's DRA.

Throughput: 1,000 pods with one claim each exist before the contestant starts; from the first
allocation that the API server shows to the last pod bound. Latency: a pod is created and seen
bound, one at a time and 200 at once. Contestants take turns in the same run.

    PYTHONPATH=tests python -m benchmarks.end_to_end [--nodes N]... [--rounds N] [--json]
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import fleet
import msgspec

from benchmarks.peers.scheduler_dra import (
    PODS,
    QPS,
    TEMPLATES,
    Bindings,
    Measured,
    Workload,
    cpu_seconds,
    cpu_seconds_of,
    create_pods,
)
from benchmarks.peers.scheduler_dra import measure as measure_scheduler
from dra_cli.local import programs
from dra_cli.local.layout import Layout
from dra_cli.local.ports import free_ports
from dra_cli.local.system import LocalSystem
from e2e.conftest import DEPLOY, policies_in_force
from e2e.controlplane import ControlPlane, Identity, Options, eventually
from e2e.controlplane.objects import a_claim_template, a_class, a_pod, from_template

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
DEADLINE_SECONDS = 600.0


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from a pod's creation to its binding, as a client sees both."""

    at_once: int
    p50: float
    p99: float


@asynccontextmanager
async def open_stage(workload: Workload) -> AsyncIterator[tuple[ControlPlane, LocalSystem]]:
    """A control plane under our policies and our system on it, its slices published, no bridge."""
    with tempfile.TemporaryDirectory(prefix="dra", dir="/tmp") as folder:
        async with ControlPlane(Options(kube_api_qps=QPS)) as plane:
            await plane.api("POST", "/apis/resource.k8s.io/v1/deviceclasses", a_class())
            await plane.api("POST", TEMPLATES, a_claim_template("one-device"))
            names = [f"node-{index}" for index in range(workload.nodes)]
            await asyncio.gather(*(plane.add_node(name) for name in names))
            await plane.install(DEPLOY / "rbac", DEPLOY / "policies")
            await policies_in_force(plane)
            layout = Layout(
                nodes=(),
                bridges=0,
                kubeconfig=plane.kubeconfig(Identity.BRIDGE),
                kubelets=False,
                environment=fleet.SILENT_FOR_EVER | {"LOG_LEVEL": "warning"},
            )
            async with LocalSystem(Path(folder), layout) as system:
                await fleet.report(system.nats_url, names, workload.devices_per_node)
                yield plane, system


async def start_bridge(system: LocalSystem) -> None:
    """Starts the bridge as one more process of the system."""
    (port,) = free_ports(1)
    environment = {"NATS_URL": system.nats_url, "KUBECONFIG": str(system.kubeconfig)}
    bridge = programs.service(
        "dra_api_bridge", "api-bridge", port, {**environment, **system.layout.environment}
    )
    system.supervisor.start(bridge)
    await system.ready("api-bridge")


async def slices_are_there(plane: ControlPlane, count: int) -> None:
    async def all_there() -> bool:
        return len((await plane.api("GET", SLICES))["items"]) >= count

    await eventually("all slices", all_there, seconds=DEADLINE_SECONDS, every=0.5)


async def measure(workload: Workload) -> Measured:
    """One run of our own path on a fresh control plane."""
    async with open_stage(workload) as (plane, system):
        await start_bridge(system)
        await slices_are_there(plane, workload.nodes)
        await system.supervisor.retire("api-bridge")
        await create_pods(plane, workload)
        before = used(plane, system)
        bindings = Bindings(plane, workload.pods)
        started = time.monotonic()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.gather(bindings.watch(), start_bridge(system))
        after = used(plane, system)
    seconds = bindings.last_binding - bindings.first_allocation
    return Measured(
        contestant="dra-ledger",
        workload=workload,
        pods_per_second=round(workload.pods / seconds, 1),
        seconds=round(seconds, 2),
        seconds_with_start=round(bindings.last_binding - started, 2),
        cpu_seconds={part: round(time - before.get(part, 0.0), 2) for part, time in after.items()},
        cpus=os.cpu_count() or 1,
    )


def used(plane: ControlPlane, system: LocalSystem) -> dict[str, float]:
    """CPU time of every process so far."""
    ours = {name: cpu_seconds_of(pid) for name, pid in system.supervisor.pids().items()}
    return cpu_seconds(plane, plane.options.parts) | ours


async def measure_latency(nodes: int, one_at_a_time: int, at_once: int) -> list[Latency]:
    """How long a pod waits for its node, alone and in company."""
    workload = Workload(nodes=nodes, pods=at_once)
    async with open_stage(workload) as (plane, system):
        await start_bridge(system)
        await slices_are_there(plane, nodes)
        alone = [(await waits(plane, [f"alone-{n}"]))[0] for n in range(one_at_a_time)]
        together = await waits(plane, [f"together-{n}" for n in range(at_once)])
    return [_latency(1, alone), _latency(at_once, together)]


async def waits(plane: ControlPlane, names: list[str]) -> list[float]:
    """Creates pods at once; for each the seconds until a watch shows it bound."""
    created: dict[str, float] = {}
    bound: dict[str, float] = {}

    async def create(name: str) -> None:
        created[name] = time.monotonic()
        await plane.api("POST", PODS, a_pod(name, [from_template("gpu", "one-device")]))

    async def watch() -> None:
        async with aclosing(plane.watch(f"{PODS}?fieldSelector=spec.nodeName!=")) as events:
            async for event in events:
                bound.setdefault(event["object"]["metadata"]["name"], time.monotonic())
                if bound.keys() >= set(names):
                    return

    async with asyncio.timeout(DEADLINE_SECONDS):
        await asyncio.gather(watch(), *(create(name) for name in names))
    return [bound[name] - created[name] for name in names]


def _latency(at_once: int, seconds: list[float]) -> Latency:
    cuts = statistics.quantiles(seconds, n=100)
    return Latency(at_once=at_once, p50=round(cuts[49], 3), p99=round(cuts[98], 3))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.end_to_end")
    parser.add_argument("--nodes", type=int, action="append", help="200 and 1000 unless given")
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=1, help="turns of each contestant")
    parser.add_argument("--no-latency", action="store_true")
    parser.add_argument("--json", action="store_true", help="one JSON list")
    given = parser.parse_args(sys.argv[1:])
    results: list[Measured | Latency] = []
    for nodes in given.nodes or [200, 1000]:
        workload = Workload(nodes=nodes, pods=given.pods)
        for _ in range(given.rounds):
            results.append(asyncio.run(measure_scheduler(workload)))
            results.append(asyncio.run(measure(workload)))
            print(_sentence(results[-2]), _sentence(results[-1]), sep="\n", file=sys.stderr)
    if not given.no_latency:
        results += asyncio.run(measure_latency(32, one_at_a_time=50, at_once=200))
    if given.json:
        print(msgspec.json.encode(results).decode())
        return
    print(*(_sentence(result) for result in results), sep="\n")


def _sentence(result: Measured | Latency) -> str:
    if isinstance(result, Latency):
        return f"{result.at_once} at once: bound after {result.p50} s (p50), {result.p99} s (p99)"
    size = result.workload
    cpu = ", ".join(f"{part} {used:g}" for part, used in result.cpu_seconds.items())
    return (
        f"{result.contestant}: {size.pods} pods on {size.nodes} nodes: "
        f"{result.pods_per_second} pods/s ({result.seconds} s, "
        f"{result.seconds_with_start} s from its start; CPU seconds: {cpu})"
    )


if __name__ == "__main__":
    main()
