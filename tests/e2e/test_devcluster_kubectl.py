"""The real kubectl, unchanged and without flags, works with the devcluster."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from waiting import until

from e2e.controlplane.programs import KUBECTL, program_folder

MANIFEST = """\
apiVersion: v1
kind: Namespace
metadata: {name: demo}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: single-gpu, namespace: demo}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: gated, namespace: demo}
spec:
  containers: [{name: ctr0, image: "ubuntu:22.04", resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: single-gpu}]
---
apiVersion: v1
kind: Pod
metadata: {name: plain, namespace: demo, labels: {colour: red}}
spec:
  containers: [{name: ctr0, image: "ubuntu:22.04", env: [{name: GREETING, value: hello}]}]
"""


class Kubectl(msgspec.Struct, frozen=True):
    """kubectl with a kubeconfig and a home of its own."""

    kubeconfig: Path
    home: Path

    async def run(self, *words: str, stdin: str = "") -> str:
        """What it printed; it must succeed."""
        code, output = await self.attempt(*words, stdin=stdin)
        assert code == 0, output
        return output

    async def attempt(self, *words: str, stdin: str = "") -> tuple[int, str]:
        """Exit code and everything it said."""
        running = await asyncio.create_subprocess_exec(
            program_folder() / KUBECTL,
            *words,
            env={"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.home)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await running.communicate(stdin.encode())
        assert running.returncode is not None
        return running.returncode, output.decode()


@asynccontextmanager
async def a_devcluster(root: Path) -> AsyncIterator[Kubectl]:
    """``python -m dra_devcluster`` as its own process, ended by SIGTERM."""
    words = ("-m", "dra_devcluster", "--root", str(root), "--port", "0", "--node", "node-a")
    running = await asyncio.create_subprocess_exec(
        sys.executable, *words, env=dict(os.environ), stdout=asyncio.subprocess.PIPE
    )
    assert running.stdout is not None
    try:
        assert b"API server" in await running.stdout.readline()
        yield Kubectl(root / "kubeconfig", root / "home")
    finally:
        running.terminate()
        code = await running.wait()
    assert code == 0


@pytest.fixture
def kubectl_root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dra-") as folder:
        yield Path(folder)


@pytest.fixture
async def kubectl(kubectl_root: Path) -> AsyncIterator[Kubectl]:
    """kubectl for a devcluster where the manifest is applied and its plain pod runs."""
    async with a_devcluster(kubectl_root) as found:
        applied = await found.run("apply", "-f", "-", stdin=MANIFEST)
        assert applied.count("created") == 5

        async def runs() -> bool:
            return "Running" in await found.run("get", "pod", "plain", "-n", "demo")

        await until(runs, "the plain pod runs")
        yield found


async def test_kubectl_applies_again_what_changed(kubectl: Kubectl) -> None:
    again = await kubectl.run("apply", "-f", "-", stdin=MANIFEST.replace("red", "blue"))
    assert "pod/gated unchanged" in again
    assert "pod/plain configured" in again
    selected = await kubectl.run("get", "pods", "-n", "demo", "-l", "colour=blue", "-o", "name")
    assert selected.split() == ["pod/plain"]


async def test_kubectl_gets_tables(kubectl: Kubectl) -> None:
    pods = await kubectl.run("get", "pods", "-n", "demo", "-o", "wide")
    assert pods.split("\n")[0].split() == (
        [
            "NAME",
            "READY",
            "STATUS",
            "RESTARTS",
            "AGE",
            "IP",
            "NODE",
            "NOMINATED",
            "NODE",
            "READINESS",
            "GATES",
        ]
    )
    assert "SchedulingGated" in pods
    claims = await kubectl.run("get", "resourceclaims", "-n", "demo")
    assert claims.split()[:3] == ["NAME", "STATE", "AGE"]
    assert "pending" in claims
    assert "node-a" in await kubectl.run("get", "nodes")
    assert "gpu.example.com" in await kubectl.run("get", "deviceclasses")


async def test_kubectl_describes_and_shows_logs(kubectl: Kubectl) -> None:
    log = await kubectl.run("logs", "plain", "-n", "demo")
    assert 'declare -x GREETING="hello"' in log
    described = await kubectl.run("describe", "pod", "plain", "-n", "demo")
    assert "Successfully assigned demo/plain to node-a" in described
    await kubectl.run("describe", "node", "node-a")
    await kubectl.run("describe", "resourceclaims", "-n", "demo")


async def test_kubectl_deletes(kubectl: Kubectl) -> None:
    await kubectl.run("delete", "pod", "plain", "-n", "demo")
    await kubectl.run("delete", "namespace", "demo")
    assert "demo" not in await kubectl.run("get", "namespaces")
    assert "No resources found" in await kubectl.run("get", "resourceclaims", "-A")


async def test_kubectl_deletes_a_manifest_with_its_namespace(kubectl: Kubectl) -> None:
    said = await kubectl.run("delete", "-f", "-", stdin=MANIFEST)
    assert said.count(" deleted") == 5
    assert "demo" not in await kubectl.run("get", "namespaces")


async def test_kubectl_applies_on_the_servers_side(kubectl_root: Path) -> None:
    async with a_devcluster(kubectl_root) as kubectl:
        for _ in range(2):
            said = await kubectl.run("apply", "--server-side", "-f", "-", stdin=MANIFEST)
            assert said.count(" serverside-applied") == 5
            assert "keeps no field managers" in said
        other = MANIFEST.replace("colour: red", "colour: blue")
        await kubectl.run("apply", "--server-side", "-f", "-", stdin=other)
        assert "plain" in await kubectl.run("get", "pods", "-n", "demo", "-l", "colour=blue")


async def test_kubectl_shows_what_the_server_refuses(kubectl_root: Path) -> None:
    async with a_devcluster(kubectl_root) as kubectl:
        code, said = await kubectl.attempt("get", "pod", "none")
        assert (code, 'pods "none" not found' in said) == (1, True)
        odd = MANIFEST.replace("deviceClassName", "deviceClas")
        code, said = await kubectl.attempt("apply", "-f", "-", stdin=odd)
        assert code == 1
        assert 'unknown field "spec.spec.devices.requests[0].exactly.deviceClas"' in said


async def test_a_taken_port_is_a_clear_error(kubectl_root: Path) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    words = ("-m", "dra_devcluster", "--root", str(kubectl_root), "--port", str(port))
    running = await asyncio.create_subprocess_exec(
        sys.executable, *words, stderr=asyncio.subprocess.PIPE
    )
    _, said = await running.communicate()
    server.close()
    await server.wait_closed()
    assert running.returncode == 2
    assert f"port {port} on 127.0.0.1 is taken" in said.decode()
