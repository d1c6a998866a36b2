"""Promises about claims: what may be written when, and what the claim controller does."""

from typing import Any

from contract.kubernetes_api.client import CORE, DRA, Api
from waiting import until

from e2e.controlplane.objects import (
    a_claim,
    a_claim_template,
    a_pod,
    an_allocation,
    from_claim,
    from_template,
)

FINALIZER = "resource.kubernetes.io/delete-protection"
AT = "2026-01-01T00:00:00Z"
ALLOCATION = an_allocation("nowhere", "gpu-0", AT)


def consumer(pod: Any) -> dict[str, str]:
    metadata = pod["metadata"]
    return {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}


async def an_allocated_claim(api: Api, namespace: str, *pods: Any) -> str:
    """The path of a claim that is allocated, and reserved for the pods."""
    claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
    await api.create(claims, a_claim("one"))
    status = {"allocation": ALLOCATION, "reservedFor": [consumer(pod) for pod in pods]}
    (await api.merge(f"{claims}/one/status", {"status": status})).ok()
    return f"{claims}/one"


async def a_pod_on_a_node(api: Api, namespace: str, name: str) -> Any:
    """A pod that uses claim ``one``, bound to a node that no kubelet runs."""
    pods = f"{CORE}/namespaces/{namespace}/pods"
    pod = await api.create(pods, a_pod(name, [from_claim("gpu", "one")]))
    await api.merge(f"{pods}/{name}", {"spec": {"schedulingGates": []}})
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "nowhere"}}
    (await api.call("POST", f"{pods}/{name}/binding", binding)).ok()
    return pod


class ClaimPromises:
    """Any server with a claim controller, and with our policies in force."""

    async def test_a_claim_carries_the_finalizer_from_birth(self, api: Api, namespace: str) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        assert (await api.create(claims, a_claim("one")))["metadata"]["finalizers"] == [FINALIZER]

    async def test_a_request_asks_for_one_device_unless_it_says_otherwise(
        self, api: Api, namespace: str
    ) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        asked = (await api.create(claims, a_claim("one")))["spec"]["devices"]["requests"][0]
        wanted = {"allocationMode": "ExactCount", "count": 1, "deviceClassName": "gpu.example.com"}
        assert asked["exactly"] == wanted

    async def test_a_claim_without_requests_has_null_for_them(
        self, api: Api, namespace: str
    ) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        claim = await api.create(claims, {"metadata": {"name": "none"}, "spec": {}})
        assert claim["spec"] == {"devices": {"requests": None}}

    async def test_the_spec_of_a_claim_never_changes(self, api: Api, namespace: str) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        await api.create(claims, a_claim("one"))
        answer = await api.merge(f"{claims}/one", {"spec": {"devices": {"requests": None}}})
        assert (answer.code, answer.reason) == (422, "Invalid")

    async def test_an_allocation_is_set_once_and_only_taken_back_whole(
        self, api: Api, namespace: str
    ) -> None:
        path = await an_allocated_claim(api, namespace)
        same = await api.merge(f"{path}/status", {"status": {"allocation": ALLOCATION}})
        other = an_allocation("nowhere", "gpu-1", AT)
        changed = await api.merge(f"{path}/status", {"status": {"allocation": other}})
        taken = await api.merge(f"{path}/status", {"status": {"allocation": None}})
        assert (same.code, changed.code, taken.code) == (200, 422, 200)
        assert "allocation" not in taken.body["status"]

    async def test_only_an_allocated_claim_is_reserved(self, api: Api, namespace: str) -> None:
        pod = await api.create(f"{CORE}/namespaces/{namespace}/pods", a_pod("pod"))
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        await api.create(claims, a_claim("one"))
        reserve = {"status": {"reservedFor": [consumer(pod)]}}
        assert (await api.merge(f"{claims}/one/status", reserve)).code == 422

    async def test_a_reserved_allocation_is_not_taken_back_alone(
        self, api: Api, namespace: str
    ) -> None:
        pod = await api.create(
            f"{CORE}/namespaces/{namespace}/pods", a_pod("pod", [from_claim("gpu", "one")])
        )
        path = await an_allocated_claim(api, namespace, pod)
        alone = await api.merge(f"{path}/status", {"status": {"allocation": None}})
        both = {"status": {"allocation": None, "reservedFor": None}}
        assert alone.code == 422
        assert (await api.merge(f"{path}/status", both)).code == 200

    async def test_an_allocation_must_answer_a_request_of_the_claim(
        self, api: Api, namespace: str
    ) -> None:
        claims = f"{DRA}/namespaces/{namespace}/resourceclaims"
        await api.create(claims, a_claim("one"))
        results = [{**ALLOCATION["devices"]["results"][0], "request": "other"}]
        wrong = {**ALLOCATION, "devices": {"results": results}}
        answer = await api.merge(f"{claims}/one/status", {"status": {"allocation": wrong}})
        assert (answer.code, answer.reason) == (422, "Invalid")

    async def test_reports_on_a_device_go_with_its_allocation(
        self, api: Api, namespace: str
    ) -> None:
        path = await an_allocated_claim(api, namespace)
        device = {"driver": "gpu.example.com", "pool": "nowhere", "device": "gpu-0"}
        stranger = {**device, "device": "gpu-9"}
        refused = await api.merge(f"{path}/status", {"status": {"devices": [stranger]}})
        taken = await api.merge(f"{path}/status", {"status": {"devices": [device]}})
        assert (refused.code, taken.code) == (422, 200)
        released = (await api.merge(f"{path}/status", {"status": {"allocation": None}})).ok()
        assert "devices" not in released["status"]

    async def test_a_template_makes_a_claim_while_the_pod_is_gated(
        self, api: Api, namespace: str
    ) -> None:
        scope = f"{DRA}/namespaces/{namespace}"
        await api.create(f"{scope}/resourceclaimtemplates", a_claim_template("single"))
        pod = await api.create(
            f"{CORE}/namespaces/{namespace}/pods", a_pod("pod", [from_template("gpu", "single")])
        )

        async def named() -> Any:
            found = await api.get(f"{CORE}/namespaces/{namespace}/pods/pod")
            return found["status"].get("resourceClaimStatuses")

        (entry,) = await until(named, "the pod's status names its claim")
        claim = await api.get(f"{scope}/resourceclaims/{entry['resourceClaimName']}")
        metadata = claim["metadata"]
        assert entry["name"] == "gpu"
        assert metadata["name"].startswith("pod-gpu-")
        assert metadata["annotations"]["resource.kubernetes.io/pod-claim-name"] == "gpu"
        assert metadata["finalizers"] == [FINALIZER]
        (owner,) = metadata["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Pod", pod["metadata"]["uid"])
        assert owner["controller"] is True

    async def test_a_claim_from_a_template_goes_with_its_pod(
        self, api: Api, namespace: str
    ) -> None:
        scope = f"{DRA}/namespaces/{namespace}"
        await api.create(f"{scope}/resourceclaimtemplates", a_claim_template("single"))
        pods = f"{CORE}/namespaces/{namespace}/pods"
        await api.create(pods, a_pod("pod", [from_template("gpu", "single")]))

        async def count() -> int:
            return len((await api.get(f"{scope}/resourceclaims"))["items"])

        async def one() -> bool:
            return await count() == 1

        async def none() -> bool:
            return await count() == 0

        await until(one, "the claim is made")
        await api.call("DELETE", f"{pods}/pod")
        await until(none, "the claim goes with its pod")

    async def test_the_last_consumers_end_releases_a_claim(self, api: Api, namespace: str) -> None:
        pod = await a_pod_on_a_node(api, namespace, "pod")
        path = await an_allocated_claim(api, namespace, pod)
        await api.call("DELETE", f"{CORE}/namespaces/{namespace}/pods/pod?gracePeriodSeconds=0")

        async def released() -> Any:
            claim = await api.get(path)
            free = "allocation" not in claim["status"] and "reservedFor" not in claim["status"]
            return free and claim if "finalizers" not in claim["metadata"] else None

        await until(released, "consumer, allocation and finalizer are gone")

    async def test_a_finished_consumer_leaves_and_the_other_keeps_the_claim(
        self, api: Api, namespace: str
    ) -> None:
        first = await a_pod_on_a_node(api, namespace, "first")
        second = await a_pod_on_a_node(api, namespace, "second")
        path = await an_allocated_claim(api, namespace, first, second)
        status = {"status": {"phase": "Succeeded"}}
        await api.merge(f"{CORE}/namespaces/{namespace}/pods/first/status", status)

        async def one_left() -> Any:
            claim = await api.get(path)
            return claim if len(claim["status"]["reservedFor"]) == 1 else None

        claim = await until(one_left, "the finished pod leaves")
        assert claim["status"]["reservedFor"] == [consumer(second)]
        assert claim["status"]["allocation"] == ALLOCATION

    async def test_a_deleted_claim_stays_while_it_is_used(self, api: Api, namespace: str) -> None:
        pod = await a_pod_on_a_node(api, namespace, "pod")
        path = await an_allocated_claim(api, namespace, pod)
        await api.call("DELETE", path)
        held = await api.get(path)
        assert held["metadata"]["deletionTimestamp"]
        await api.call("DELETE", f"{CORE}/namespaces/{namespace}/pods/pod?gracePeriodSeconds=0")

        async def gone() -> bool:
            return not await api.exists(path)

        await until(gone, "the claim goes after its last consumer")

    async def test_a_deleted_claim_that_nobody_holds_goes_with_its_allocation(
        self, api: Api, namespace: str
    ) -> None:
        path = await an_allocated_claim(api, namespace)
        await api.call("DELETE", path)

        async def gone() -> bool:
            return not await api.exists(path)

        await until(gone, "the claim goes")
