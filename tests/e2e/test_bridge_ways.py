"""The way to a real API server: through a proxy, and by the name that its certificate bears."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dra_api_bridge.edge.api import ApiUnreachableError, connected
from dra_api_bridge.edge.discovery import discover
from e2e.controlplane import ControlPlane, Identity


class Proxy:
    """An HTTP proxy that knows CONNECT alone; `asked`: where it was asked to lead."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Listens on loopback; yields the URL."""
        server = await asyncio.start_server(self._lead, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        verb, place, _ = (await reader.readline()).decode().split()
        self.asked.append(f"{verb} {place}")
        while await reader.readline() != b"\r\n":
            pass
        host, _, port = place.rpartition(":")
        inner, outer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(_pass_on(reader, outer), _pass_on(inner, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


def a_kubeconfig(plane: ControlPlane, folder: Path, more: str) -> str:
    """The bridge's kubeconfig with more about the cluster."""
    text = plane.kubeconfig(Identity.BRIDGE).read_text()
    config = folder / "kubeconfig"
    config.write_text(
        text.replace(', certificate-authority: "', f', {more}, certificate-authority: "')
    )
    return str(config)


async def test_a_proxy_leads_to_the_server(control_plane: ControlPlane, tmp_path: Path) -> None:
    proxy = Proxy()
    async with proxy.listening() as url:
        config = a_kubeconfig(control_plane, tmp_path, f'proxy-url: "{url}"')
        async with connected(config) as api:
            assert (await discover(api)).version.startswith("v1.37")
    assert set(proxy.asked) == {f"CONNECT {control_plane.site.url.removeprefix('https://')}"}


@pytest.mark.parametrize("way", ["directly", "through a proxy"])
async def test_the_certificates_name_is_the_kubeconfigs(
    control_plane: ControlPlane, tmp_path: Path, way: str
) -> None:
    async with Proxy().listening() as url:
        more = f', proxy-url: "{url}"' if way != "directly" else ""
        right = a_kubeconfig(control_plane, tmp_path, f"tls-server-name: kubernetes.default{more}")
        async with connected(right) as api:
            assert (await discover(api)).version.startswith("v1.37")
        wrong = a_kubeconfig(control_plane, tmp_path, f"tls-server-name: other.example.com{more}")
        async with connected(wrong) as api:
            with pytest.raises(ApiUnreachableError, match=r"other\.example\.com"):
                await discover(api)
