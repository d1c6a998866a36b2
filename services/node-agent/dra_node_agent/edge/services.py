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
    dra_v1beta1_pb2,
    registration_pb2,
    registration_pb2_grpc,
)

TYPE: Final = "DRAPlugin"
VERSIONS: Final = ("v1.DRAPlugin", "v1beta1.DRAPlugin", health_stream.VERSION)
"""Best first: the kubelet takes the first that it knows."""

Registered = Callable[[str, str], None]
"""Is told a driver's name, and why the kubelet did not take it in; an empty reason: it did."""

Claim = dra_v1_pb2.Claim | dra_v1beta1_pb2.Claim
PrepareRequest = (
    dra_v1_pb2.NodePrepareResourcesRequest | dra_v1beta1_pb2.NodePrepareResourcesRequest
)
UnprepareRequest = (
    dra_v1_pb2.NodeUnprepareResourcesRequest | dra_v1beta1_pb2.NodeUnprepareResourcesRequest
)
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


class PluginService:
    """DRAPlugin in one version. What differs between them is that v1beta1 has no share ids."""

    def __init__(self, plugin: Plugin, version: Any) -> None:
        """`version`: the module of the version's messages; both name them alike."""
        self._plugin = plugin
        self._version = version
        self._has_shares = "share_id" in version.Device.DESCRIPTOR.fields_by_name

    async def NodePrepareResources(  # noqa: N802 - gRPC's name
        self,
        request: PrepareRequest,
        context: Context,  # noqa: ARG002 - gRPC's shape
    ) -> Any:
        """An answer for each claim; one that fails does not hold up the others."""
        wanted = _references(request.claims)
        outcomes = await asyncio.gather(*map(self._plugin.prepare, wanted.values()))
        answers = dict(zip(wanted, map(self._answer, outcomes), strict=True))
        return self._version.NodePrepareResourcesResponse(claims=answers)

    async def NodeUnprepareResources(  # noqa: N802 - gRPC's name
        self,
        request: UnprepareRequest,
        context: Context,  # noqa: ARG002 - gRPC's shape
    ) -> Any:
        """An answer for each claim, known or not."""
        wanted = _references(request.claims)
        outcomes = await asyncio.gather(*map(self._plugin.unprepare, wanted.values()))
        errors = ("" if refused is None else str(refused) for refused in outcomes)
        kind = self._version.NodeUnprepareResourceResponse
        answers = {uid: kind(error=error) for uid, error in zip(wanted, errors, strict=True)}
        return self._version.NodeUnprepareResourcesResponse(claims=answers)

    def _answer(self, outcome: tuple[PreparedDevice, ...] | Refused) -> Any:
        if isinstance(outcome, Refused):
            return self._version.NodePrepareResourceResponse(error=str(outcome))
        devices = [self._device(device) for device in outcome]
        return self._version.NodePrepareResourceResponse(devices=devices)

    def _device(self, device: PreparedDevice) -> Any:
        return self._version.Device(
            request_names=device.requests,
            pool_name=device.pool,
            device_name=device.device,
            cdi_device_ids=device.cdi_ids,
            **({"share_id": device.share_id} if self._has_shares else {}),
        )


def _references(claims: Iterable[Claim]) -> dict[str, ObjectRef]:
    return {
        claim.uid: ObjectRef(namespace=claim.namespace, name=claim.name, uid=claim.uid)
        for claim in claims
    }
