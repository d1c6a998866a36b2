"""What dra-ledger relies on in Kubernetes itself, shown on a real control plane.

No part of dra-ledger runs here: these are the rules of the API server, the policies and roles in
deploy/, the claim controller and kube-scheduler.
"""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio

from e2e.controlplane import ApiError, ControlPlane, Identity, Part, eventually
from e2e.controlplane.objects import (
    DRIVER,
    a_claim,
    a_claim_template,
    a_class,
    a_pod,
    a_slice,
    an_allocation,
    from_claim,
    from_template,
)

AT = "2026-11-30T12:00:00Z"
GATE = {"name": "dra-ledger.io/allocation"}
FINALIZER = "resource.kubernetes.io/delete-protection"
EXTENDED = "resource.kubernetes.io/extended-resource-claim"
RESOURCE = "/apis/resource.k8s.io/v1"


def claims(namespace: str) -> str:
    return f"{RESOURCE}/namespaces/{namespace}/resourceclaims"


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def refused_with(text: str) -> Any:
    return pytest.raises(ApiError, match=text)


def gone(plane: ControlPlane, path: str) -> Callable[[], Awaitable[bool]]:
    async def probe() -> bool:
        try:
            await plane.api("GET", path)
        except ApiError as refusal:
            return refusal.status == 404
        return False

    return probe


def bound(plane: ControlPlane, pod: str) -> Callable[[], Awaitable[str | None]]:
    async def probe() -> str | None:
        node: str | None = (await plane.api("GET", pod))["spec"].get("nodeName")
        return node

    return probe


def condition(plane: ControlPlane, pod: str, text: str) -> Callable[[], Awaitable[bool]]:
    async def probe() -> bool:
        found = (await plane.api("GET", pod))["status"].get("conditions", [])
        return any(text in entry.get("message", "") for entry in found)

    return probe


def reservation(pod: Any) -> dict[str, str]:
    metadata = pod["metadata"]
    return {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}


def ungate_and_pin(node: str) -> list[dict[str, Any]]:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return [
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": GATE["name"]},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
        {"op": "add", "path": "/spec/affinity", "value": {"nodeAffinity": required}},
    ]


@pytest_asyncio.fixture(loop_scope="session")
async def node(control_plane: ControlPlane, namespace_numbers: Any) -> str:
    """A node with one free device, unlike any other test's."""
    name = f"node-{next(namespace_numbers)}"
    await control_plane.add_node(name)
    await control_plane.api("POST", f"{RESOURCE}/resourceslices", a_slice(name, 1))
    return name


async def test_all_five_kinds_of_the_resource_api_are_served(control_plane: ControlPlane) -> None:
    listed = await control_plane.api("GET", RESOURCE)
    kinds = {entry["kind"] for entry in listed["resources"] if "/" not in entry["name"]}
    assert kinds == {
        "DeviceClass",
        "DeviceTaintRule",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceSlice",
    }


async def test_a_node_is_ready_and_without_taints(control_plane: ControlPlane, node: str) -> None:
    seen = await control_plane.api("GET", f"/api/v1/nodes/{node}")
    assert "taints" not in seen["spec"]
    assert seen["status"]["conditions"][0]["status"] == "True"
    assert seen["status"]["allocatable"]["pods"] == "110"


async def test_kubectl_speaks_for_each_identity(control_plane: ControlPlane) -> None:
    for identity in Identity:
        told = await control_plane.kubectl("auth", "whoami", identity=identity)
        assert f" {identity}\n" in told


async def test_a_watch_shows_what_there_is_and_then_what_changes(
    control_plane: ControlPlane, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    await control_plane.api("POST", path, a_pod("before"))
    async with aclosing(control_plane.watch(path)) as events:
        first = await anext(events)
        await control_plane.api("POST", path, a_pod("after"))
        names = [(await anext(events))["object"]["metadata"]["name"]]
        while names[-1] != "after":  # changes of the first pod's status
            names.append((await anext(events))["object"]["metadata"]["name"])
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "before")


async def test_a_pod_with_claims_gets_the_gate(control_plane: ControlPlane, namespace: str) -> None:
    made = await control_plane.api("POST", pods(namespace), a_pod("p", [from_claim("gpu", "c")]))
    assert made["spec"]["schedulingGates"] == [GATE]


async def test_the_gate_joins_the_gates_a_pod_brings(
    control_plane: ControlPlane, namespace: str
) -> None:
    theirs = {"name": "example.com/quota"}
    pod = a_pod("p", [from_claim("gpu", "c")], schedulingGates=[theirs])
    made = await control_plane.api("POST", pods(namespace), pod)
    assert sorted(gate["name"] for gate in made["spec"]["schedulingGates"]) == [
        GATE["name"],
        theirs["name"],
    ]


async def test_the_gate_is_not_added_twice(control_plane: ControlPlane, namespace: str) -> None:
    pod = a_pod("p", [from_claim("gpu", "c")], schedulingGates=[GATE])
    made = await control_plane.api("POST", pods(namespace), pod)
    assert made["spec"]["schedulingGates"] == [GATE]


@pytest.mark.parametrize(
    "pod",
    [a_pod("p"), a_pod("p", [from_claim("gpu", "c")], nodeName="some-node")],
    ids=["no claims", "node named"],
)
async def test_other_pods_get_no_gate(
    control_plane: ControlPlane, namespace: str, pod: dict[str, Any]
) -> None:
    made = await control_plane.api("POST", pods(namespace), pod)
    assert "schedulingGates" not in made["spec"]


async def test_a_claim_gets_the_finalizer_at_creation(
    control_plane: ControlPlane, namespace: str
) -> None:
    made = await control_plane.api("POST", claims(namespace), a_claim("c"))
    assert made["metadata"]["finalizers"] == [FINALIZER]


async def test_the_finalizer_joins_those_a_claim_brings_and_is_not_added_twice(
    control_plane: ControlPlane, namespace: str
) -> None:
    claim = a_claim("c", finalizers=["example.com/audit", FINALIZER])
    made = await control_plane.api("POST", f"{claims(namespace)}?dryRun=All", claim)
    assert sorted(made["metadata"]["finalizers"]) == ["example.com/audit", FINALIZER]


async def test_a_claim_that_was_never_allocated_can_be_deleted(
    control_plane: ControlPlane, namespace: str
) -> None:
    await control_plane.api("POST", claims(namespace), a_claim("c"))
    await control_plane.api("DELETE", f"{claims(namespace)}/c")
    await eventually("the claim is gone", gone(control_plane, f"{claims(namespace)}/c"))


async def test_an_opted_out_namespace_is_left_alone(
    control_plane: ControlPlane, ignored_namespace: str, node: str
) -> None:
    await control_plane.api("POST", claims(ignored_namespace), a_claim("c"))
    pod = a_pod("p", [from_claim("gpu", "c")], nodeSelector={"kubernetes.io/hostname": node})
    made = await control_plane.api("POST", pods(ignored_namespace), pod)
    assert "schedulingGates" not in made["spec"]
    path = f"{pods(ignored_namespace)}/p"
    assert await eventually("kube-scheduler binds it", bound(control_plane, path)) == node


async def test_the_scheduler_may_not_allocate(
    control_plane: ControlPlane, namespace: str, node: str
) -> None:
    await control_plane.api("POST", claims(namespace), a_claim("c"))
    pod = a_pod("p", [from_claim("gpu", "c")], nodeSelector={"kubernetes.io/hostname": node})
    await control_plane.api("POST", pods(namespace), pod)
    await control_plane.api("PATCH", f"{pods(namespace)}/p", {"spec": {"schedulingGates": []}})
    denied = condition(control_plane, f"{pods(namespace)}/p", "allocated by dra-ledger")
    await eventually("the pod says why it waits", denied)
    claim = await control_plane.api("GET", f"{claims(namespace)}/c")
    assert "allocation" not in claim.get("status", {})


async def test_the_scheduler_may_take_an_allocation_back(
    control_plane: ControlPlane, namespace: str
) -> None:
    path = f"{claims(namespace)}/c"
    await control_plane.api("POST", claims(namespace), a_claim("c"))
    given = {"status": {"allocation": an_allocation("n", "gpu-0", AT)}}
    await control_plane.api("PATCH", f"{path}/status", given, Identity.BRIDGE)
    cleared = {"status": {"allocation": None}}
    after = await control_plane.api("PATCH", f"{path}/status", cleared, Identity.SCHEDULER)
    assert "allocation" not in after.get("status", {})


async def test_the_scheduler_may_allocate_extended_resource_claims(
    control_plane: ControlPlane, namespace: str
) -> None:
    claim = a_claim("c", annotations={EXTENDED: "true"})
    await control_plane.api("POST", claims(namespace), claim, Identity.SCHEDULER)
    given = {"status": {"allocation": an_allocation("n", "gpu-0", AT)}}
    path = f"{claims(namespace)}/c/status"
    after = await control_plane.api("PATCH", path, given, Identity.SCHEDULER)
    assert "allocation" in after["status"]


async def test_nobody_else_may_mark_a_claim_as_an_extended_resource(
    control_plane: ControlPlane, namespace: str
) -> None:
    marked = a_claim("c", annotations={EXTENDED: "true"})
    with refused_with("kube-scheduler alone"):
        await control_plane.api("POST", claims(namespace), marked, Identity.TENANT)
    await control_plane.api("POST", claims(namespace), a_claim("c"), Identity.TENANT)
    with refused_with("kube-scheduler alone"):
        await control_plane.api(
            "PATCH",
            f"{claims(namespace)}/c",
            {"metadata": {"annotations": {EXTENDED: "true"}}},
            Identity.TENANT,
        )


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
async def test_a_pod_may_not_have_the_scheduler_allocate_by_a_resource_name(
    control_plane: ControlPlane, namespace: str, kind: str
) -> None:
    limits = {f"deviceclass.resource.kubernetes.io/{DRIVER}": "1"}
    container = {"name": "asks", "image": "none", "resources": {"limits": limits}}
    pod = a_pod("p", **{kind: [container]})
    with refused_with("with a resource claim of that class"):
        await control_plane.api("POST", pods(namespace), pod, Identity.TENANT)


async def test_a_pod_whose_claim_the_bridge_allocated_is_bound_and_released(
    control_plane: ControlPlane, namespace: str, node: str
) -> None:
    template = f"{RESOURCE}/namespaces/{namespace}/resourceclaimtemplates"
    await control_plane.api("POST", template, a_claim_template("t"))
    pod_path = f"{pods(namespace)}/p"
    pod = a_pod("p", [from_template("gpu", "t")])
    made = await control_plane.api("POST", pods(namespace), pod, Identity.TENANT)

    async def only_claim() -> Any:
        found = await control_plane.api("GET", claims(namespace), identity=Identity.BRIDGE)
        return found["items"]

    (claim,) = await eventually("the gated pod's claim is created", only_claim)
    assert claim["metadata"]["finalizers"] == [FINALIZER]
    claim_path = f"{claims(namespace)}/{claim['metadata']['name']}"
    written = {
        "metadata": {key: claim["metadata"][key] for key in ("uid", "resourceVersion")},
        "status": {
            "allocation": an_allocation(node, "gpu-0", AT),
            "reservedFor": [reservation(made)],
        },
    }
    await control_plane.api("PATCH", f"{claim_path}/status", written, Identity.BRIDGE)
    await control_plane.api("PATCH", pod_path, ungate_and_pin(node), Identity.BRIDGE)
    assert await eventually("the pod is bound", bound(control_plane, pod_path)) == node

    await control_plane.api("DELETE", pod_path)
    await eventually("its claim is gone too", gone(control_plane, claim_path))


@pytest.mark.parametrize(
    "path",
    [
        *(f"{RESOURCE}/{kind}" for kind in ("resourceclaims", "resourceslices", "deviceclasses")),
        f"{RESOURCE}/devicetaintrules",
        *(f"/api/v1/{kind}" for kind in ("nodes", "pods", "namespaces")),
    ],
)
async def test_the_bridge_reads_what_decisions_depend_on(
    control_plane: ControlPlane, path: str
) -> None:
    assert "items" in await control_plane.api("GET", path, identity=Identity.BRIDGE)


async def test_the_bridge_publishes_slices(control_plane: ControlPlane) -> None:
    path = f"{RESOURCE}/resourceslices"
    slice_ = a_slice("published-node", 2)
    name = slice_["metadata"]["name"]
    await control_plane.api("POST", path, slice_, Identity.BRIDGE)
    grown = {"spec": a_slice("published-node", 3)["spec"]}
    await control_plane.api("PATCH", f"{path}/{name}", grown, Identity.BRIDGE)
    await control_plane.api("DELETE", f"{path}/{name}", identity=Identity.BRIDGE)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", f"{RESOURCE}/namespaces/NS/resourceclaims", a_claim("x")),
        ("DELETE", f"{RESOURCE}/namespaces/NS/resourceclaims/c", None),
        ("POST", "/api/v1/namespaces/NS/pods", a_pod("x")),
        ("DELETE", "/api/v1/namespaces/NS/pods/p", None),
        ("PATCH", "/api/v1/namespaces/NS/pods/p/status", {"status": {}}),
        ("POST", f"{RESOURCE}/deviceclasses", a_class("x", DRIVER)),
        ("PATCH", "/api/v1/nodes/n", {"metadata": {"labels": {"a": "b"}}}),
        ("PATCH", "/api/v1/namespaces/NS", {"metadata": {"labels": {"a": "b"}}}),
        ("GET", "/api/v1/namespaces/NS/secrets", None),
        ("GET", "/api/v1/namespaces/NS/configmaps", None),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles", None),
    ],
)
async def test_the_bridge_may_not_do_what_it_need_not(
    control_plane: ControlPlane, namespace: str, method: str, path: str, body: Any
) -> None:
    with refused_with("cannot") as refusal:
        await control_plane.api(method, path.replace("NS", namespace), body, Identity.BRIDGE)
    assert refusal.value.status == 403


async def test_a_tenant_may_not_allocate(control_plane: ControlPlane, namespace: str) -> None:
    await control_plane.api("POST", claims(namespace), a_claim("c"), Identity.TENANT)
    given = {"status": {"allocation": an_allocation("n", "gpu-0", AT)}}
    with refused_with("cannot patch resource") as refusal:
        await control_plane.api("PATCH", f"{claims(namespace)}/c/status", given, Identity.TENANT)
    assert refusal.value.status == 403


async def test_parts_can_be_stopped_and_started_again(control_plane: ControlPlane) -> None:
    before = control_plane.pid(Part.SCHEDULER)
    await control_plane.stop(Part.SCHEDULER)
    await control_plane.start(Part.SCHEDULER)
    assert control_plane.pid(Part.SCHEDULER) != before
