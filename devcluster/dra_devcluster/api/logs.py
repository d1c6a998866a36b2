"""A pod's log: found on the node's kubelet and passed on, as a real API server does.

The server keeps no logs. The kubelet's address and port stand in the node's status.
"""

from typing import Final

from aiohttp import ClientError, ClientSession, web

from dra_devcluster.api.cluster import Cluster
from dra_devcluster.api.errors import ApiError
from dra_devcluster.api.resources import NODES, PODS, Key, Object

PASSED_ON: Final = ("follow", "previous", "sinceSeconds", "sinceTime", "tailLines", "timestamps")


async def serve_log(request: web.Request, cluster: Cluster, key: Key) -> web.StreamResponse:
    """The container's log from its node; no content while the pod has no node."""
    pod = cluster.get(PODS, key)
    container = request.query.get("container") or _only_container(pod)
    _check_container(pod, container)
    node_name = pod["spec"].get("nodeName")
    if not node_name:
        return web.Response(status=204)
    address = kubelet_address(cluster.get(NODES, Key("", node_name)))
    url = f"http://{address}/containerLogs/{key.namespace}/{key.name}/{container}"
    query = {name: request.query[name] for name in PASSED_ON if name in request.query}
    return await _pass_on(request, url, query)


def _only_container(pod: Object) -> str:
    names = [container["name"] for container in pod["spec"]["containers"]]
    if len(names) == 1:
        return str(names[0])
    name, choice = pod["metadata"]["name"], " ".join(names)
    message = f"a container name must be specified for pod {name}, choose one of: [{choice}]"
    raise ApiError(400, message)


def _check_container(pod: Object, container: str) -> None:
    spec = pod["spec"]
    containers = [*spec["containers"], *spec.get("initContainers", [])]
    if container not in [entry["name"] for entry in containers]:
        message = f"container {container} is not valid for pod {pod['metadata']['name']}"
        raise ApiError(400, message)


def kubelet_address(node: Object) -> str:
    """Host and port of the node's kubelet. Raises ServiceUnavailable (503) if it has none."""
    status = node.get("status", {})
    addresses = status.get("addresses", [])
    hosts = [entry["address"] for entry in addresses if entry["type"] == "InternalIP"]
    port = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port", 0)
    if not hosts or not port:
        name = node["metadata"]["name"]
        message = f"node {name} has no kubelet endpoint in its status: is its kubelet running?"
        raise ApiError(503, message)
    return f"{hosts[0]}:{port}"


async def _pass_on(request: web.Request, url: str, query: dict[str, str]) -> web.StreamResponse:
    try:
        async with ClientSession() as session, session.get(url, params=query) as upstream:
            response = web.StreamResponse(status=upstream.status)
            response.content_type = "text/plain"
            await response.prepare(request)
            async for chunk in upstream.content.iter_any():
                await response.write(chunk)
            return response
    except ClientError as broken:
        raise ApiError(500, f"Get {url}: {broken}") from broken
