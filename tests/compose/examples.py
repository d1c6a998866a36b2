"""Applies examples 1 to 6 to a running system and says what their containers see of the GPUs.

Called by `run` with the API server's URL. Exit code 1 if a pod does not run in time or a container
does not see what it should.
"""

import asyncio
import sys

from waiting import until

from dra_cli.demo import objects
from dra_cli.demo.environment import driver_lines, parse
from dra_cli.demo.expectations import findings
from dra_cli.demo.manifests import EXAMPLES, load
from dra_cli.edge.rest import Api

NODES = {"worker-0", "worker-1"}
GPUS = 8
PATIENCE = 120.0


async def main(url: str) -> list[str]:
    """What is not as it should be."""
    async with Api(url) as api:

        async def offered() -> bool:
            slices = await api.list("/apis/resource.k8s.io/v1/resourceslices")
            return {found["spec"].get("nodeName") for found in slices} >= NODES

        async def running() -> bool:
            return not objects.not_running(await api.list("/api/v1/pods"))

        await until(offered, "both nodes offer devices", within=PATIENCE)
        for manifest in load(EXAMPLES, range(1, 7)):
            await api.create(manifest)
        await until(running, "all pods run", within=PATIENCE)
        logs = await logs_of_all(api)
    for name, log in logs.items():
        sys.stdout.write("\n".join((name, *(f"    {line}" for line in driver_lines(log)), "")))
    return list(findings({name: parse(log) for name, log in logs.items()}, GPUS))


async def logs_of_all(api: Api) -> dict[str, str]:
    """What each container has printed, by `namespace/pod/container`."""
    return {
        f"{objects.pod_name(pod)}/{container}": await api.pod_log(
            pod["metadata"]["namespace"], pod["metadata"]["name"], container
        )
        for pod in await api.list("/api/v1/pods")
        for container in objects.containers(pod)
    }


if __name__ == "__main__":
    sys.exit("\n".join(asyncio.run(main(sys.argv[1]))) or 0)
