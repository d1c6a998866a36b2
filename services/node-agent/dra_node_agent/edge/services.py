"""The kubelet's questions as gRPC asks them, and the plugin's answers as messages. No decisions."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

import grpc
import structlog

from dra_node_agent.core.record import Refused
from dra_node_agent.edge import health_stream
from dra_node_agent.edge.plugin import Plugin
from dra_shared.events.nodes import PreparedDevice
from dra_shared.ids import ObjectRef
from dra_shared.kubelet_api import (
    dra_v1_pb2,
    dra_v1_pb2_grpc,
    dra_v1beta1_pb2,
    dra_v1beta1_pb2_grpc,
    registration_pb2,
    registration_pb2_grpc,
)

TYPE: Final = "DRAPlugin"
VERSIONS: Final = ("v1.DRAPlugin", "v1beta1.DRAPlugin", health_stream.VERSION)
"""Best first: the kubelet takes the first that it knows."""

Registered = Callable[[str, str], None]
"""Is told a driver's name, and why the kubelet did not take it in; an empty reason: it did."""

Context = grpc.aio.ServicerContext[Any, Any]

_log = structlog.get_logger()


class Registration(registration_pb2_grpc.RegistrationServicer):
    """Says who the driver is, and hears whether the kubelet took it in."""

    def __init__(self, driver: str, endpoint: str, registered: Registered) -> None:
        self._driver = driver
        self._endpoint = endpoint
        self._registered = registered

    async def GetInfo(  # noqa: N802 - gRPC's name
        self,
        request: registration_pb2.InfoRequest,  # noqa: ARG002 - empty
        context: Context,  # noqa: ARG002 - gRPC's shape
    ) -> registration_pb2.PluginInfo:
        """The driver's name, its socket, its versions."""
        return registration_pb2.PluginInfo(
            type=TYPE, name=self._driver, endpoint=self._endpoint, supported_versions=VERSIONS
        )

    async def NotifyRegistrationStatus(  # noqa: N802 - gRPC's name
        self,
        request: registration_pb2.RegistrationStatus,
        context: Context,  # noqa: ARG002 - gRPC's shape
    ) -> registration_pb2.RegistrationStatusResponse:
        """Notes the kubelet's verdict; the kubelet itself tries again after a no."""
        if request.plugin_registered:
            _log.info("registered with the kubelet", driver=self._driver)
            self._registered(self._driver, "")
        else:
            _log.error("the kubelet refused the driver", driver=self._driver, error=request.error)
            self._registered(self._driver, request.error or "no reason given")
        return registration_pb2.RegistrationStatusResponse()


class V1Plugin(dra_v1_pb2_grpc.DRAPluginServicer):
    """DRAPlugin v1."""

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin

    async def NodePrepareResources(  # noqa: N802 - gRPC's name
        self,
        request: dra_v1_pb2.NodePrepareResourcesRequest,
        context: Context,  # noqa: ARG002 - gRPC's shape
    ) -> dra_v1_pb2.NodePrepareResourcesResponse:
        """An answer for each claim; one that fails does not hold up the others."""
        outcomes = await _prepare(self._plugin, request.claims)
        answers = {uid: _v1_answer(outcome) for uid, outcome in outcomes.items()}
        return dra_v1_pb2.NodePrepareResourcesResponse(claims=answers)

    async def NodeUnprepareResources(  # noqa: N802 - gRPC's name
        self,
        request: dra_v1_pb2.NodeUnprepareResourcesRequest,
        context: Context,  # noqa: ARG002 - gRPC's shape
    ) -> dra_v1_pb2.NodeUnprepareResourcesResponse:
        """An answer for each claim, known or not."""
        errors = await _unprepare(self._plugin, request.claims)
        kind = dra_v1_pb2.NodeUnprepareResourceResponse
        answers = {uid: kind(error=error) for uid, error in errors.items()}
        return dra_v1_pb2.NodeUnprepareResourcesResponse(claims=answers)


class V1beta1Plugin(dra_v1beta1_pb2_grpc.DRAPluginServicer):
    """DRAPlugin v1beta1: the same without share ids."""

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin

    async def NodePrepareResources(  # noqa: N802 - gRPC's name
        self,
        request: dra_v1beta1_pb2.NodePrepareResourcesRequest,
        context: Context,  # noqa: ARG002 - gRPC's shape
    ) -> dra_v1beta1_pb2.NodePrepareResourcesResponse:
        """As in v1."""
        outcomes = await _prepare(self._plugin, request.claims)
        answers = {uid: _v1beta1_answer(outcome) for uid, outcome in outcomes.items()}
        return dra_v1beta1_pb2.NodePrepareResourcesResponse(claims=answers)

    async def NodeUnprepareResources(  # noqa: N802 - gRPC's name
        self,
        request: dra_v1beta1_pb2.NodeUnprepareResourcesRequest,
        context: Context,  # noqa: ARG002 - gRPC's shape
    ) -> dra_v1beta1_pb2.NodeUnprepareResourcesResponse:
        """As in v1."""
        errors = await _unprepare(self._plugin, request.claims)
        kind = dra_v1beta1_pb2.NodeUnprepareResourceResponse
        answers = {uid: kind(error=error) for uid, error in errors.items()}
        return dra_v1beta1_pb2.NodeUnprepareResourcesResponse(claims=answers)


Outcome = tuple[PreparedDevice, ...] | Refused


async def _prepare(
    plugin: Plugin, claims: Iterable[dra_v1_pb2.Claim | dra_v1beta1_pb2.Claim]
) -> dict[str, Outcome]:
    wanted = {claim.uid: _reference(claim) for claim in claims}
    outcomes = await asyncio.gather(*(plugin.prepare(claim) for claim in wanted.values()))
    return dict(zip(wanted, outcomes, strict=True))


async def _unprepare(
    plugin: Plugin, claims: Iterable[dra_v1_pb2.Claim | dra_v1beta1_pb2.Claim]
) -> dict[str, str]:
    wanted = {claim.uid: _reference(claim) for claim in claims}
    outcomes = await asyncio.gather(*(plugin.unprepare(claim) for claim in wanted.values()))
    errors = ("" if refused is None else str(refused) for refused in outcomes)
    return dict(zip(wanted, errors, strict=True))


def _reference(claim: dra_v1_pb2.Claim | dra_v1beta1_pb2.Claim) -> ObjectRef:
    return ObjectRef(namespace=claim.namespace, name=claim.name, uid=claim.uid)


def _v1_answer(outcome: Outcome) -> dra_v1_pb2.NodePrepareResourceResponse:
    if isinstance(outcome, Refused):
        return dra_v1_pb2.NodePrepareResourceResponse(error=str(outcome))
    return dra_v1_pb2.NodePrepareResourceResponse(
        devices=[
            dra_v1_pb2.Device(
                request_names=device.requests,
                pool_name=device.pool,
                device_name=device.device,
                cdi_device_ids=device.cdi_ids,
                share_id=device.share_id,
            )
            for device in outcome
        ]
    )


def _v1beta1_answer(outcome: Outcome) -> dra_v1beta1_pb2.NodePrepareResourceResponse:
    if isinstance(outcome, Refused):
        return dra_v1beta1_pb2.NodePrepareResourceResponse(error=str(outcome))
    return dra_v1beta1_pb2.NodePrepareResourceResponse(
        devices=[
            dra_v1beta1_pb2.Device(
                request_names=device.requests,
                pool_name=device.pool,
                device_name=device.device,
                cdi_device_ids=device.cdi_ids,
            )
            for device in outcome
        ]
    )
