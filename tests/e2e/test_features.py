"""Every kind of allocation is accepted by the real API server as we write it.

On 1.37 with all it has, and with the features of 1.35, which knows neither shares, partitions
nor device taints by default.
"""

from collections.abc import AsyncIterator
from typing import Any

import fleet
import pytest
import pytest_asyncio

from dra_shared.events.envelope import AnyFact, Envelope
from dra_shared.events.nodes import AgentStarted, DevicesReported, ReportedDevice
from dra_shared.kube.devices import (
    CapacityRange,
    CapacityRequestPolicy,
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
)
from dra_shared.log.jetstream import JetStreamLog
from dra_shared.runtime.bus import connect
from e2e.controlplane import ControlPlane, eventually
from e2e.controlplane.objects import a_pod, from_claim
from e2e.whole import RESOURCE, Json, Whole, whole_system

NODE = "feat-0"
DRIVER = "feature.example.com"
FEATURES_OF_1_35 = ",".join(
    f"-{name}"
    for name in (
        "DeviceTaints",
        "PartitionableDevices",
        "ConsumableCapacity",
        "DeviceBindingAndStatus",
        "FractionalCapacityRange",
    )
)
pytestmark = pytest.mark.timeout(120)


def a_device(name: str, kind: str, **more: Any) -> ReportedDevice:
    attributes = {
        "kind": DeviceAttribute(string=kind),
        "numa": DeviceAttribute(integer=int(name[-1]) // 2),
    }
    return ReportedDevice(identity=name, device=Device(name=name, attributes=attributes, **more))


def plain() -> list[ReportedDevice]:
    return [a_device(f"plain-{n}", "plain") for n in range(4)]


def special() -> list[ReportedDevice]:
    policy = CapacityRequestPolicy(
        default="4Gi", valid_range=CapacityRange(min="2Gi", max="40Gi", step="2Gi")
    )
    memory = {"memory": DeviceCapacity(value="80Gi", request_policy=policy)}
    taint = DeviceTaint(key="example.com/dusty", value="true", effect="NoSchedule")
    return [
        a_device("share-0", "share", allow_multiple_allocations=True, capacity=memory),
        a_device("part-0", "part", consumes_counters=takes("1")),
        a_device("part-1", "part", consumes_counters=takes("1")),
        a_device("whole-0", "whole", consumes_counters=takes("2")),
        a_device("dusty-0", "dusty", taints=(taint,)),
    ]


def takes(amount: str) -> tuple[DeviceCounterConsumption, ...]:
    return (DeviceCounterConsumption(counter_set="card", counters={"k": Counter(value=amount)}),)


async def report(
    nats_url: str, devices: list[ReportedDevice], sets: tuple[CounterSet, ...]
) -> None:
    log = JetStreamLog(await connect(nats_url, "features"))
    facts: tuple[AnyFact, ...] = (
        AgentStarted(node=NODE, boot_id="b", agent_version="0", drivers=(DRIVER,)),
        DevicesReported(node=NODE, driver=DRIVER, devices=tuple(devices), counter_sets=sets),
    )
    await log.commit(
        [Envelope(id=f"{NODE}:{n}", actor=NODE, fact=fact) for n, fact in enumerate(facts)]
    )
    await log.close()


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def stage(control_plane: ControlPlane) -> AsyncIterator[ControlPlane]:
    """The node, and a class for each kind of device."""
    await control_plane.add_node(NODE)
    for kind in ("plain", "share", "part", "whole", "dusty"):
        test = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].kind == '{kind}'"
        spec = {"selectors": [{"cel": {"expression": test}}]}
        body = {"metadata": {"name": kind}, "spec": spec}
        await control_plane.api("POST", f"{RESOURCE}/deviceclasses", body)
    yield control_plane
    for kind in ("plain", "share", "part", "whole", "dusty"):
        await control_plane.api("DELETE", f"{RESOURCE}/deviceclasses/{kind}")
    await control_plane.api("DELETE", f"/api/v1/nodes/{NODE}")


@pytest_asyncio.fixture(loop_scope="session")
async def newest(stage: ControlPlane) -> AsyncIterator[Whole]:
    async with whole_system(stage) as whole:
        card = CounterSet(name="card", counters={"k": Counter(value="2")})
        await report(whole.system.nats_url, [*plain(), *special()], (card,))
        await whole.has_slices((NODE,), each=2)
        yield whole


async def results(whole: Whole, namespace: str, name: str, devices: Json) -> list[Json]:
    """Creates a claim and a pod for it, and waits until the pod is bound; the claim's results."""
    claims = f"{RESOURCE}/namespaces/{namespace}/resourceclaims"
    body = {"metadata": {"name": name}, "spec": {"devices": devices}}
    await whole.plane.api("POST", claims, body)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await whole.plane.api("POST", pods, a_pod(name, [from_claim("c", name)]))

    async def bound() -> bool:
        pod = await whole.plane.api("GET", f"{pods}/{name}")
        return bool(pod["spec"].get("nodeName"))

    await eventually(f"{name} is bound", bound)
    claim = await whole.plane.api("GET", f"{claims}/{name}")
    found: list[Json] = claim["status"]["allocation"]["devices"]["results"]
    return found


def exactly(kind: str, **more: Any) -> Json:
    return {"requests": [{"name": "r", "exactly": {"deviceClassName": kind, **more}}]}


async def free(whole: Whole, namespace: str) -> None:
    """Takes all pods and claims of a namespace away, and waits until nothing is held."""
    for kind in (
        f"/api/v1/namespaces/{namespace}/pods",
        f"{RESOURCE}/namespaces/{namespace}/resourceclaims",
    ):
        for found in await whole.items(kind):
            await whole.plane.api("DELETE", f"{kind}/{found['metadata']['name']}")

    async def gone() -> bool:
        return not await whole.items(f"{RESOURCE}/namespaces/{namespace}/resourceclaims")

    await eventually("all claims are gone", gone)


async def test_alternatives_and_constraints(newest: Whole, namespace: str) -> None:
    alternatives = [
        {"name": "big", "deviceClassName": "plain", "count": 9},
        {"name": "small", "deviceClassName": "plain", "count": 1},
    ]
    request = {"name": "r", "firstAvailable": alternatives}
    (found,) = await results(newest, namespace, "alternatives", {"requests": [request]})
    assert found["request"] == "r/small"
    constraint = {"requests": ["r"], "matchAttribute": f"{DRIVER}/numa"}
    both = await results(
        newest, namespace, "match", {**exactly("plain", count=2), "constraints": [constraint]}
    )
    assert len({int(result["device"][-1]) // 2 for result in both}) == 1
    await free(newest, namespace)


async def test_shares(newest: Whole, namespace: str) -> None:
    wanted = exactly("share", capacity={"requests": {"memory": "8Gi"}})
    (one,) = await results(newest, namespace, "share-a", wanted)
    (other,) = await results(newest, namespace, "share-b", wanted)
    assert one["device"] == other["device"] == "share-0"
    assert one["shareID"] != other["shareID"]
    assert one["consumedCapacity"] == {"memory": "8Gi"}
    await free(newest, namespace)


async def test_partitions(newest: Whole, namespace: str) -> None:
    both = await results(newest, namespace, "parts", exactly("part", count=2))
    assert {result["device"] for result in both} == {"part-0", "part-1"}
    await free(newest, namespace)
    (whole,) = await results(newest, namespace, "whole", exactly("whole"))
    assert whole["device"] == "whole-0"
    await free(newest, namespace)


async def test_tainted_devices_go_to_those_who_tolerate_them(newest: Whole, namespace: str) -> None:
    toleration = {"key": "example.com/dusty", "operator": "Exists", "effect": "NoSchedule"}
    (found,) = await results(
        newest, namespace, "tolerant", exactly("dusty", tolerations=[toleration])
    )
    assert found["tolerations"] == [toleration]
    await free(newest, namespace)


async def test_admin_access(newest: Whole, namespace: str) -> None:
    (held,) = await results(newest, namespace, "held", exactly("whole"))
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    await newest.plane.api("PATCH", f"/api/v1/namespaces/{namespace}", label)
    (watched,) = await results(
        newest, namespace, "admin", exactly("whole", adminAccess=True, allocationMode="All")
    )
    assert (watched["device"], watched["adminAccess"]) == (held["device"], True)
    await free(newest, namespace)
    await newest.verified()


async def test_with_the_features_of_1_35(stage: ControlPlane, namespace: str) -> None:
    environment = fleet.SILENT_FOR_EVER | {"FEATURES": FEATURES_OF_1_35}
    async with whole_system(stage, environment=environment) as whole:
        await report(whole.system.nats_url, plain(), ())
        await whole.has_slices((NODE,))
        request = {"name": "r", "firstAvailable": [{"name": "one", "deviceClassName": "plain"}]}
        (found,) = await results(whole, namespace, "alternatives", {"requests": [request]})
        assert found["request"] == "r/one"
        constraint = {"matchAttribute": f"{DRIVER}/numa"}
        both = await results(
            whole, namespace, "match", {**exactly("plain", count=2), "constraints": [constraint]}
        )
        assert len(both) == 2
        label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
        await whole.plane.api("PATCH", f"/api/v1/namespaces/{namespace}", label)
        everything = exactly("plain", adminAccess=True, allocationMode="All")
        assert len(await results(whole, namespace, "admin", everything)) == 4
        await free(whole, namespace)
        await whole.verified()
