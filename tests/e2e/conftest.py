"""What end-to-end tests share: one governed control plane, and a namespace for each test.

All tests here run on the session's event loop, because the control plane lives there.
"""

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from e2e.controlplane import ApiError, ControlPlane, Identity, eventually
from e2e.controlplane.objects import a_claim, a_class, a_pod, an_allocation, from_claim

HERE = Path(__file__).parent
DEPLOY = HERE.parents[1] / "deploy"
EPOCH = "2026-01-01T00:00:00Z"
RBAC = "rbac.authorization.k8s.io"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def control_plane() -> AsyncIterator[ControlPlane]:
    """A control plane with all parts, deploy/rbac and deploy/policies, and the example's class."""
    async with ControlPlane() as plane:
        await plane.install(DEPLOY / "rbac", DEPLOY / "policies")
        await policies_in_force(plane)
        await plane.api("POST", "/apis/resource.k8s.io/v1/deviceclasses", a_class())
        yield plane


@pytest.fixture(scope="session")
def namespace_numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(
    control_plane: ControlPlane, namespace_numbers: Iterator[int]
) -> AsyncIterator[str]:
    """A namespace of the test's own, where the tenant may do what Kubernetes' role `edit` lets."""
    name = f"test-{next(namespace_numbers)}"
    yield await open_namespace(control_plane, name, {})
    await control_plane.api("DELETE", f"/api/v1/namespaces/{name}")


@pytest_asyncio.fixture(loop_scope="session")
async def ignored_namespace(
    control_plane: ControlPlane, namespace_numbers: Iterator[int]
) -> AsyncIterator[str]:
    """The same, opted out of all policies by its label."""
    name = f"ignored-{next(namespace_numbers)}"
    yield await open_namespace(control_plane, name, {"dra-ledger.io/ignore": "true"})
    await control_plane.api("DELETE", f"/api/v1/namespaces/{name}")


async def open_namespace(plane: ControlPlane, name: str, labels: dict[str, str]) -> str:
    metadata = {"name": name, "labels": labels}
    await plane.api("POST", "/api/v1/namespaces", {"metadata": metadata})
    rights = {
        "metadata": {"name": "tenant"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": Identity.TENANT}],
    }
    await plane.api("POST", f"/apis/{RBAC}/v1/namespaces/{name}/rolebindings", rights)
    await eventually("the tenant has its rights", lambda: tenant_may_claim(plane, name))
    return name


async def tenant_may_claim(plane: ControlPlane, namespace: str) -> bool:
    wanted = {"namespace": namespace, "verb": "create", "group": "resource.k8s.io"}
    review = {"spec": {"resourceAttributes": {**wanted, "resource": "resourceclaims"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = await plane.api("POST", path, review, Identity.TENANT)
    return bool(answer["status"]["allowed"])


async def policies_in_force(plane: ControlPlane) -> None:
    """Returns once all policies act: the API server takes up to two seconds to notice them."""
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    given = {"status": {"allocation": an_allocation("node", "gpu-0", EPOCH)}}
    mark = "resource.kubernetes.io/extended-resource-claim"
    marked = {"metadata": {"annotations": {mark: "true"}}}
    await plane.api("POST", claims, a_claim("probe"))

    async def all_act() -> bool:
        pod = a_pod("probe", [from_claim("gpu", "probe")])
        gated = await plane.api("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod)
        kept = await plane.api("POST", f"{claims}?dryRun=All", a_claim("other"))
        return (
            "schedulingGates" in gated["spec"]
            and "finalizers" in kept["metadata"]
            and await is_denied("/status", given, Identity.SCHEDULER)
            and await is_denied("", marked, Identity.ADMIN)
        )

    async def is_denied(subresource: str, patch: dict[str, Any], identity: Identity) -> bool:
        path = f"{claims}/probe{subresource}?dryRun=All"
        try:
            await plane.api("PATCH", path, patch, identity)
        except ApiError as refusal:
            return "ValidatingAdmissionPolicy" in refusal.message
        return False

    await eventually("the policies are in force", all_act)
    await plane.api("DELETE", f"{claims}/probe")
