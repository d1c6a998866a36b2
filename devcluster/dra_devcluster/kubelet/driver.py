"""One registered driver: prepare and unprepare over gRPC, in whichever version it speaks.

Translates messages into structs of our own and back; no decisions.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import grpc
import msgspec

from dra_shared.kubelet_api import (
    dra_v1_pb2,
    dra_v1_pb2_grpc,
    dra_v1beta1_pb2,
    dra_v1beta1_pb2_grpc,
)

CALL_SECONDS: Final = 45.0
CONNECT_SECONDS: Final = 10.0
VERSIONS: Final[Mapping[str, tuple[Any, Any]]] = {
    "v1.DRAPlugin": (dra_v1_pb2, dra_v1_pb2_grpc),
    "v1beta1.DRAPlugin": (dra_v1beta1_pb2, dra_v1beta1_pb2_grpc),
}
"""What a driver may offer, and the messages and stubs for it."""


class ClaimReference(msgspec.Struct, frozen=True):
    """A claim as the protocol names it."""

    namespace: str
    uid: str
    name: str


class PreparedDevice(msgspec.Struct, frozen=True):
    """A device that is ready: for which requests (none: for all), and its CDI ids."""

    requests: tuple[str, ...]
    cdi_ids: tuple[str, ...]


class DriverError(Exception):
    """The driver could not do it, or not all of it; it will be asked again."""


class Driver:
    """A driver's DRA service on its socket."""

    def __init__(self, name: str, endpoint: str, version: str) -> None:
        self.name = name
        self.endpoint = endpoint
        self.version = version
        self._messages, stubs = VERSIONS[version]
        self._channel = grpc.aio.insecure_channel(f"unix://{endpoint}")
        self._stub = stubs.DRAPluginStub(self._channel)

    async def connect(self) -> None:
        """Return once connected; the connection shows from then on whether the driver lives."""
        await asyncio.wait_for(self._channel.channel_ready(), CONNECT_SECONDS)

    def is_usable(self) -> bool:
        """Whether the connection stands; a broken one is opened anew in the background."""
        state = self._channel.get_state(try_to_connect=True)
        return bool(state is grpc.ChannelConnectivity.READY)

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()

    async def prepare(
        self, claims: Sequence[ClaimReference]
    ) -> dict[str, tuple[PreparedDevice, ...]]:
        """The claims' devices by claim uid, all claims or none. Raises ``DriverError``."""
        request = self._messages.NodePrepareResourcesRequest(claims=self._written(claims))
        answers = await self._call("NodePrepareResources", request)
        self._check(claims, answers, "prepare")
        return {uid: tuple(map(_read_device, answers[uid].devices)) for uid in answers}

    async def unprepare(self, claims: Sequence[ClaimReference]) -> None:
        """Return once the driver holds none of the claims any more. Raises ``DriverError``."""
        request = self._messages.NodeUnprepareResourcesRequest(claims=self._written(claims))
        answers = await self._call("NodeUnprepareResources", request)
        self._check(claims, answers, "unprepare")

    def _written(self, claims: Sequence[ClaimReference]) -> list[Any]:
        return [
            self._messages.Claim(namespace=claim.namespace, uid=claim.uid, name=claim.name)
            for claim in claims
        ]

    async def _call(self, method: str, request: Any) -> Mapping[str, Any]:
        try:
            answer = await getattr(self._stub, method)(request, timeout=CALL_SECONDS)
        except grpc.aio.AioRpcError as failed:
            problem = f"{method} on {self.name}: {failed.code().name}: {failed.details()}"
            raise DriverError(problem) from failed
        answers: Mapping[str, Any] = answer.claims
        return answers

    def _check(
        self, claims: Sequence[ClaimReference], answers: Mapping[str, Any], verb: str
    ) -> None:
        """As the kubelet: an error, a claim nobody asked about or a missing one fails the call."""
        asked = {claim.uid: claim for claim in claims}
        for uid, answer in answers.items():
            if uid not in asked:
                raise DriverError(f"{self.name} answered about claim {uid}, which was not asked")
            if answer.error:
                name = asked[uid].name
                raise DriverError(f"{self.name} could not {verb} claim {name}: {answer.error}")
        if skipped := len(asked) - len(answers):
            raise DriverError(f"{self.name} skipped {skipped} ResourceClaims of {len(asked)}")


def _read_device(device: Any) -> PreparedDevice:
    return PreparedDevice(tuple(device.request_names), tuple(device.cdi_device_ids))
