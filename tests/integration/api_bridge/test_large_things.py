"""What is larger than one message of NATS holds nobody up: told bit by bit, or left out aloud."""

from functools import reduce
from pathlib import Path
from typing import Any

from integration.api_bridge.local import Bridged, bridging
from servers import NatsServer
from structlog.testing import capture_logs
from waiting import until

from dra_api_bridge.service import TOO_LARGE
from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.resources import CLAIMS, EVENTS, PODS, SLICES, Key
from dra_shared.events.claims import ClaimRequested
from dra_shared.events.cluster import ForeignSlicesChanged, ForeignSlicesObserved
from dra_shared.events.envelope import encode
from e2e.controlplane.objects import a_claim, a_pod, from_claim

DRIVER = "fabric.example.com"
SLICE_COUNT = 79
"""Slices of 10,112 devices."""

NATS_LIMIT = 1024 * 1024


def a_device(number: int) -> dict[str, Any]:
    return {
        "name": f"port-{number}",
        "attributes": {
            "model": {"string": "Example Fabric Port, 400 Gbit/s"},
            "uuid": {"string": f"{number:036}"},
            "firmware": {"version": "4.2.1"},
            "numa": {"int": number % 8},
        },
        "capacity": {"bandwidth": {"value": "400G"}},
    }


def a_wide_slice(number: int, generation: int = 1) -> dict[str, Any]:
    pool = {"name": "fabric", "generation": generation, "resourceSliceCount": SLICE_COUNT}
    devices = [a_device(128 * number + place) for place in range(128)]
    spec = {"driver": DRIVER, "allNodes": True, "pool": pool, "devices": devices}
    return {"metadata": {"name": f"fabric-{number:02}"}, "spec": spec}


def a_wide_pool() -> Cluster:
    cluster = Cluster()
    for number in range(SLICE_COUNT):
        cluster.create(SLICES, "", a_wide_slice(number))
    return cluster


async def pool_in_the_log(bridged: Bridged) -> ForeignSlicesObserved:
    changes = await bridged.facts(ForeignSlicesChanged)
    nothing = ForeignSlicesObserved(driver=DRIVER, pool="fabric", slices=())
    return reduce(lambda pool, change: change.onto(pool), changes, nothing)


async def until_slices(bridged: Bridged, count: int, generation: int) -> ForeignSlicesObserved:
    """The pool once the log has so many slices, and some of them of that generation."""

    async def is_there() -> Any:
        pool = await pool_in_the_log(bridged)
        newest = max((item.spec.pool.generation for item in pool.slices), default=0)
        return pool if (len(pool.slices), newest) == (count, generation) else None

    pool: ForeignSlicesObserved = await until(is_there, f"the log has {count} slices")
    return pool


async def test_a_pool_of_ten_thousand_devices_is_told_bit_by_bit(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    async with bridging(a_wide_pool(), nats_server.url, tmp_path) as bridged:
        pool = await until_slices(bridged, SLICE_COUNT, generation=1)
        devices = [device.name for item in pool.slices for device in item.spec.devices or ()]
        assert devices == [f"port-{number}" for number in range(128 * SLICE_COUNT)]
        told = [encode(record.envelope) for record in await bridged.records()]
        assert sum(map(len, told)) > 2 * NATS_LIMIT
        assert max(map(len, told)) < NATS_LIMIT / 2


async def test_of_a_wide_pool_only_what_changed_is_told(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    async with bridging(a_wide_pool(), nats_server.url, tmp_path) as bridged:
        await until_slices(bridged, SLICE_COUNT, generation=1)
        before = len(await bridged.facts(ForeignSlicesChanged))
        bridged.cluster.replace(SLICES, Key("", "fabric-07"), a_wide_slice(7, generation=2))
        bridged.cluster.delete(SLICES, Key("", "fabric-78"))
        await until_slices(bridged, SLICE_COUNT - 1, generation=2)
        told = (await bridged.facts(ForeignSlicesChanged))[before:]
        assert [item.metadata.name for fact in told for item in fact.slices] == ["fabric-07"]
        assert [name for fact in told for name in fact.removed] == ["fabric-78"]


async def test_a_claim_too_large_for_an_event_is_told_on_its_pod_and_holds_nobody_up(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    large: Any = a_claim("large")
    opaque = {"driver": "gpu.example.com", "parameters": {"text": "x" * 40_000}}
    large["spec"]["devices"]["config"] = [{"opaque": opaque} for _ in range(30)]
    with capture_logs() as said:
        async with bridging(Cluster(), nats_server.url, tmp_path) as bridged:
            bridged.cluster.create(CLAIMS, "default", large)
            pod = bridged.cluster.create(PODS, "default", a_pod("p", [from_claim("gpu", "large")]))
            bridged.cluster.create(CLAIMS, "default", a_claim("small"))

            async def told() -> list[str]:
                return [
                    event["message"]
                    for event in bridged.cluster.scan(EVENTS)
                    if event["involvedObject"]["uid"] == pod["metadata"]["uid"]
                ]

            (message,) = await until(told, "the pod is told")
            assert message.startswith("claim large is too large to be recorded: 12")
            claims = [fact.claim.name for fact in await bridged.facts(ClaimRequested)]
            assert claims == ["small"]
            assert TOO_LARGE._value.get() == 1
            bridged.cluster.delete(PODS, Key("default", "p"))
            bridged.cluster.delete(CLAIMS, Key("default", "large"))

            async def is_over() -> bool:
                return bool(TOO_LARGE._value.get() == 0)

            await until(is_over, "nothing is too large any more")
    assert [line["event"] for line in said].count("too large for the log") == 1
