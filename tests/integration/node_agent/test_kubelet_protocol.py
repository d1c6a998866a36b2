"""The kubelet's protocol: sockets, versions, registration, rolling updates, a good end."""

import asyncio
import json
from collections.abc import AsyncIterator

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped] # no stubs
from node import Kubelet, Node, a_claim, ids
from node_facts import GPU, a_result
from servers import NatsServer
from waiting import until

from dra_shared.kubelet_api import (
    dra_v1beta1_pb2,
    dra_v1beta1_pb2_grpc,
    registration_pb2,
    registration_pb2_grpc,
)

C1 = a_claim("c1")


async def test_the_driver_tells_who_it_is_where_it_serves_and_in_which_versions(
    node: Node,
) -> None:
    async with Kubelet(node) as kubelet:
        assert kubelet.info.type == "DRAPlugin"
        assert kubelet.info.name == GPU
        assert kubelet.info.endpoint == str(node.root / "plugins" / GPU / "dra.sock")
        assert kubelet.info.supported_versions == [
            "v1.DRAPlugin",
            "v1beta1.DRAPlugin",
            "v1alpha1.DRAResourceHealth",
        ]


async def test_the_older_version_gives_the_same_answers_without_shares(node: Node) -> None:
    await node.allocator.allocate(C1, a_result("gpu-0", share_id="s1"))
    claim = dra_v1beta1_pb2.Claim(namespace=C1.namespace, uid=C1.uid, name=C1.name)
    async with Kubelet(node) as kubelet:
        newer = await kubelet.prepare(C1)
        async with grpc.aio.insecure_channel(f"unix:{kubelet.info.endpoint}") as channel:
            stub = dra_v1beta1_pb2_grpc.DRAPluginStub(channel)  # type: ignore[no-untyped-call] # generated
            request = dra_v1beta1_pb2.NodePrepareResourcesRequest(claims=[claim])
            older = (await stub.NodePrepareResources(request)).claims[C1.uid]
            undo = dra_v1beta1_pb2.NodeUnprepareResourcesRequest(claims=[claim])
            assert (await stub.NodeUnprepareResources(undo)).claims[C1.uid].error == ""
    assert ids(newer) == ids(older)
    assert newer.devices[0].share_id == "s1"


async def test_the_plugin_answers_health_checks(node: Node) -> None:
    async with (
        Kubelet(node) as kubelet,
        grpc.aio.insecure_channel(f"unix:{kubelet.info.endpoint}") as channel,
    ):
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_it_is_ready_while_the_kubelet_has_all_its_drivers(nats_server: NatsServer) -> None:
    async with Node(nats_server.url, HTTP_PORT="0", HTTP_HOST="127.0.0.1") as node:
        lines = [json.loads(line) for line in node.output().splitlines()]
        port = next(line["http_port"] for line in lines if "http_port" in line)

        async def get(path: str) -> tuple[int, str]:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            answer = (await reader.read()).decode()
            writer.close()
            return int(answer.split()[1]), answer

        assert (await get("/readyz"))[0] == 200
        registration = str(node.registration_socket(GPU))
        async with grpc.aio.insecure_channel(f"unix:{registration}") as channel:
            stub = registration_pb2_grpc.RegistrationStub(channel)  # type: ignore[no-untyped-call] # generated
            refusal = registration_pb2.RegistrationStatus(plugin_registered=False, error="no room")
            await stub.NotifyRegistrationStatus(refusal)
        status, answer = await get("/readyz")
        assert status == 503
        assert "registration of gpu.example.com" in answer
        _, metrics = await get("/metrics")
    assert 'dra_node_agent_devices{driver="gpu.example.com"} 8.0' in metrics


async def test_a_good_end_takes_the_sockets_away_and_a_bad_one_is_no_hindrance(node: Node) -> None:
    node.kill()
    assert node.registration_socket(GPU).exists(), "a kill leaves the socket"
    await node.start()
    assert node.stop() == 0
    assert not node.registration_socket(GPU).exists()
    assert not (node.root / "plugins" / GPU / "dra.sock").exists()


async def test_a_directory_that_is_too_deep_is_named_before_anything_starts(node: Node) -> None:
    node.kill()
    node.set("KUBELET_PLUGINS_DIRECTORY_PATH", "/" + "p" * 100)
    node.launch()
    await until(node.died, "the agent has ended", within=20)
    assert "KUBELET_PLUGINS_DIRECTORY_PATH" in node.output()
    assert "107" in node.output()


@pytest.fixture
async def old(nats_server: NatsServer) -> AsyncIterator[Node]:
    async with Node(nats_server.url, POD_UID="old") as made:
        yield made


async def test_in_a_rolling_update_the_new_agent_answers_once_the_old_one_has_ended(
    old: Node,
) -> None:
    await old.allocator.allocate(C1, "gpu-0")
    async with Kubelet(old) as kubelet:
        ids(await kubelet.prepare(C1))
    new = old.successor("new")
    try:
        new.launch()

        async def is_there() -> bool:
            return new.registration_socket(GPU).exists()

        await until(is_there, "the new agent has registered while the old one still serves")
        async with Kubelet(old) as kubelet:
            ids(await kubelet.prepare(C1))
        assert old.stop() == 0
        assert new.registration_socket(GPU).exists()
        async with Kubelet(new) as kubelet:
            assert kubelet.info.endpoint.endswith("/dra-new.sock")
            ids(await kubelet.prepare(C1))
            assert await kubelet.unprepare(C1) == ""
    finally:
        new.kill()
    assert old.effects("gpu-0") == [("set_up", C1.uid), ("torn_down", C1.uid)]
