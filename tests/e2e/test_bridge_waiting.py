"""A gated pod that waits for its claim is told so by us where Kubernetes itself says nothing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from dra_shared.events.claims import PodRequested
from e2e.bridging import Ledger, a_bridged_log, claims, pods
from e2e.controlplane import ControlPlane, eventually
from e2e.controlplane.objects import a_claim, a_pod, from_claim, from_template


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ledger(control_plane: ControlPlane) -> AsyncIterator[Ledger]:
    """The log of a bridge that runs for all tests here."""
    async with a_bridged_log(control_plane) as ledger:
        yield ledger


async def said(plane: ControlPlane, namespace: str, uid: str) -> list[tuple[str, str]]:
    """Who said what about the pod in events."""
    found = await plane.api("GET", f"/api/v1/namespaces/{namespace}/events")
    return [
        (item["reportingComponent"], item["message"])
        for item in found["items"]
        if item["involvedObject"]["uid"] == uid
    ]


async def a_waiting_pod(plane: ControlPlane, namespace: str, claim: Any) -> str:
    made = await plane.api("POST", pods(namespace), a_pod("p", [claim]))
    return str(made["metadata"]["uid"])


async def test_a_missing_claim_is_told_once_and_no_more_once_it_is_there(
    control_plane: ControlPlane, ledger: Ledger, namespace: str
) -> None:
    uid = await a_waiting_pod(control_plane, namespace, from_claim("gpu", "mine"))
    ours = [("dra-ledger.io/api-bridge", "claim mine does not exist")]

    async def told() -> list[tuple[str, str]]:
        return await said(control_plane, namespace, uid)

    assert await eventually("the pod is told", told) == ours
    await control_plane.api("POST", claims(namespace), a_claim("mine"))
    await ledger.first(PodRequested, uid)
    assert await told() == ours


@pytest.mark.usefixtures("ledger")
async def test_a_claim_that_is_being_deleted_is_told(
    control_plane: ControlPlane, namespace: str
) -> None:
    held = a_claim("mine", finalizers=["example.com/held"])
    await control_plane.api("POST", claims(namespace), held)
    await control_plane.api("DELETE", f"{claims(namespace)}/mine")
    uid = await a_waiting_pod(control_plane, namespace, from_claim("gpu", "mine"))

    async def told() -> list[str]:
        return [message for _, message in await said(control_plane, namespace, uid)]

    assert await eventually("the pod is told", told) == ["claim mine is being deleted"]
    free = {"metadata": {"finalizers": None}}
    await control_plane.api("PATCH", f"{claims(namespace)}/mine", free)


@pytest.mark.usefixtures("ledger")
async def test_a_missing_template_is_told_by_kubernetes_and_not_by_us_as_well(
    control_plane: ControlPlane, namespace: str
) -> None:
    uid = await a_waiting_pod(control_plane, namespace, from_template("gpu", "none"))
    other = await control_plane.api("POST", pods(namespace), a_pod("q", [from_claim("gpu", "no")]))

    async def kubernetes() -> list[tuple[str, str]]:
        return await said(control_plane, namespace, uid)

    async def ours() -> list[tuple[str, str]]:
        return await said(control_plane, namespace, other["metadata"]["uid"])

    assert await eventually("our patience with the other pod is over", ours)
    ((who, what),) = await kubernetes()
    assert who != "dra-ledger.io/api-bridge"
    assert 'resource claim template "none"' in what
