"""Promises about pods that use claims: gates, pins, and what the scheduler does with them."""

from typing import Any

from contract.kubernetes_api.claims import AT, consumer
from contract.kubernetes_api.client import CORE, DRA, JSON_PATCH, Api
from waiting import until

from e2e.controlplane.objects import a_claim, a_node, a_pod, an_allocation, from_claim

GATE = {"name": "dra-ledger.io/allocation"}
GATES = "/spec/schedulingGates"
UNGATE = [
    {"op": "test", "path": f"{GATES}/0", "value": GATE},
    {"op": "remove", "path": f"{GATES}/0"},
]


def pin(node: str) -> dict[str, Any]:
    """The operation that ties a gated pod without affinity to a node."""
    term = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [term]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {"op": "add", "path": "/spec/affinity", "value": {"nodeAffinity": required}}


async def a_ready_node(api: Api, name: str, cpu: str = "4") -> str:
    """A node that is only an object, named after the test's namespace."""
    capacity = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    node = a_node(name, capacity, {})
    await api.create(f"{CORE}/nodes", {"metadata": node["metadata"]})
    (await api.merge(f"{CORE}/nodes/{name}/status", {"status": node["status"]})).ok()
    return name


async def condition(api: Api, path: str) -> Any:
    """The pod's PodScheduled condition."""
    conditions = (await api.get(path))["status"].get("conditions", [])
    return next((entry for entry in conditions if entry["type"] == "PodScheduled"), {})


async def a_pod_with_devices(api: Api, namespace: str, node: str, **spec: Any) -> str:
    """The path of a gated pod whose claim ``one`` is allocated on the node and reserved for it."""
    pods, scope = f"{CORE}/namespaces/{namespace}/pods", f"{DRA}/namespaces/{namespace}"
    await api.create(f"{scope}/resourceclaims", a_claim("one"))
    pod = await api.create(pods, a_pod("pod", [from_claim("gpu", "one")], **spec))
    status = {"allocation": an_allocation(node, "gpu-0", AT), "reservedFor": [consumer(pod)]}
    (await api.merge(f"{scope}/resourceclaims/one/status", {"status": status})).ok()
    return f"{pods}/pod"


class PodPromises:
    """Any server with a scheduler, and with our policies in force."""

    async def test_a_pod_with_claims_is_gated_from_birth_and_one_without_is_not(
        self, api: Api, namespace: str
    ) -> None:
        pods = f"{CORE}/namespaces/{namespace}/pods"
        gated = await api.create(pods, a_pod("gated", [from_claim("gpu", "one")]))
        free = await api.create(pods, a_pod("free"))
        assert gated["spec"]["schedulingGates"] == [GATE]
        assert "schedulingGates" not in free["spec"]
        reason = (await condition(api, f"{pods}/gated"))["reason"]
        assert reason == "SchedulingGated"

    async def test_one_json_patch_pins_and_ungates_a_pod_once(
        self, api: Api, namespace: str
    ) -> None:
        pods = f"{CORE}/namespaces/{namespace}/pods"
        await api.create(pods, a_pod("pod", [from_claim("gpu", "one")]))
        patch = [*UNGATE, pin("some-node")]
        first = await api.call("PATCH", f"{pods}/pod", patch, JSON_PATCH)
        again = await api.call("PATCH", f"{pods}/pod", patch, JSON_PATCH)
        assert "schedulingGates" not in first.ok()["spec"]
        assert again.code == 422

    async def test_a_gate_is_never_added_and_a_pin_not_after_the_gate(
        self, api: Api, namespace: str
    ) -> None:
        pods = f"{CORE}/namespaces/{namespace}/pods"
        await api.create(pods, a_pod("pod"))
        gate = [{"op": "add", "path": GATES, "value": [GATE]}]
        late = [pin("some-node")]
        codes = [
            (await api.call("PATCH", f"{pods}/pod", patch, JSON_PATCH)).code
            for patch in (gate, late)
        ]
        assert codes == [422, 422]

    async def test_a_gated_pod_is_not_bound(self, api: Api, namespace: str) -> None:
        pods = f"{CORE}/namespaces/{namespace}/pods"
        await api.create(pods, a_pod("pod", [from_claim("gpu", "one")]))
        binding = {"metadata": {"name": "pod"}, "target": {"kind": "Node", "name": "any"}}
        answer = await api.call("POST", f"{pods}/pod/binding", binding)
        assert (answer.code, answer.reason) == (409, "Conflict")

    async def test_an_ungated_pod_goes_to_the_node_of_its_devices(
        self, api: Api, namespace: str
    ) -> None:
        near, far = await a_ready_node(api, f"{namespace}-a"), f"{namespace}-b"
        await a_ready_node(api, far)
        path = await a_pod_with_devices(api, namespace, far)
        (await api.call("PATCH", path, UNGATE, JSON_PATCH)).ok()

        async def bound() -> Any:
            return (await api.get(path))["spec"].get("nodeName")

        node = await until(bound, "the pod is bound")
        for name in (near, far):
            await api.call("DELETE", f"{CORE}/nodes/{name}")
        assert node == far

    async def test_a_pinned_pod_that_does_not_fit_waits_and_keeps_its_devices(
        self, api: Api, namespace: str
    ) -> None:
        small = await a_ready_node(api, f"{namespace}-small", cpu="50m")
        path = await a_pod_with_devices(api, namespace, small)
        (await api.call("PATCH", path, [*UNGATE, pin(small)], JSON_PATCH)).ok()

        async def refused() -> Any:
            found = await condition(api, path)
            return found if found.get("reason") == "Unschedulable" else None

        found = await until(refused, "the scheduler says why the pod waits")
        claim = await api.get(f"{DRA}/namespaces/{namespace}/resourceclaims/one")
        await api.call("DELETE", f"{CORE}/nodes/{small}")
        assert found["status"] == "False"
        assert "1 Insufficient cpu" in found["message"]
        assert "nodes are available:" in found["message"]
        assert "allocation" in claim["status"]

    async def test_a_claim_in_the_way_of_every_node_loses_its_allocation(
        self, api: Api, namespace: str
    ) -> None:
        small = await a_ready_node(api, f"{namespace}-small", cpu="50m")
        large = await a_ready_node(api, f"{namespace}-large")
        path = await a_pod_with_devices(api, namespace, small)
        (await api.call("PATCH", path, UNGATE, JSON_PATCH)).ok()

        async def cleared() -> bool:
            claim = await api.get(f"{DRA}/namespaces/{namespace}/resourceclaims/one")
            return "allocation" not in claim["status"]

        await until(cleared, "the scheduler takes the allocation back")
        for name in (small, large):
            await api.call("DELETE", f"{CORE}/nodes/{name}")

    async def test_an_allocation_without_a_time_is_never_reserved_by_the_scheduler(
        self, api: Api, namespace: str
    ) -> None:
        node = await a_ready_node(api, f"{namespace}-a")
        pods, scope = f"{CORE}/namespaces/{namespace}/pods", f"{DRA}/namespaces/{namespace}"
        await api.create(f"{scope}/resourceclaims", a_claim("one"))
        await api.create(pods, a_pod("pod", [from_claim("gpu", "one")]))
        timeless = dict(an_allocation(node, "gpu-0", AT))
        del timeless["allocationTimestamp"]
        status = {"status": {"allocation": timeless}}
        (await api.merge(f"{scope}/resourceclaims/one/status", status)).ok()
        (await api.call("PATCH", f"{pods}/pod", UNGATE, JSON_PATCH)).ok()

        async def failed() -> bool:
            found = await condition(api, f"{pods}/pod")
            return bool(found.get("reason") == "SchedulerError")

        await until(failed, "the scheduler reports its refused write")
        await api.call("DELETE", f"{CORE}/nodes/{node}")
