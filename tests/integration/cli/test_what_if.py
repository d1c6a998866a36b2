"""What `dra allocate --live` says about an example is what the running system then does with it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.cli.local import Local, a_local_system, dra

from dra_cli.demo.manifests import EXAMPLES
from dra_cli.local.layout import Layout

pytestmark = pytest.mark.timeout(180)

Places = dict[str, tuple[str, dict[str, list[str]]]]
"""By pod: its node, and the devices of each of its claims."""


def places(pods: list[Any], claims: list[Any]) -> Places:
    """Where the pods are and what they have, by the names that the pods have for their claims."""
    devices = {
        claim["metadata"]["name"]: [
            one["device"] for one in claim["status"]["allocation"]["devices"]["results"]
        ]
        for claim in claims
    }
    found: Places = {}
    for pod in pods:
        made = {one["name"]: one for one in pod.get("status", {}).get("resourceClaimStatuses", ())}
        refs = [made.get(ref["name"], ref) for ref in pod["spec"]["resourceClaims"]]
        names = {ref["name"]: ref["resourceClaimName"] for ref in refs}
        has = {name: devices[claim] for name, claim in names.items()}
        found[pod["metadata"]["name"]] = pod["spec"]["nodeName"], has
    return found


async def seen(local: Local, namespace: str) -> Places:
    """What has become of an example."""
    shown = await local.cluster.look()
    here = [
        [one for one in objects if one["metadata"]["namespace"] == namespace]
        for objects in (shown.pods, shown.claims)
    ]
    return places(*here)


async def test_an_example_gets_what_the_dry_run_said(tmp_path: Path) -> None:
    async with a_local_system(Layout(nodes=("worker-0", "worker-1"), gpus=6)) as local:
        for number in (1, 2, 4, 6):
            (example,) = EXAMPLES.glob(f"{number:02}-*.yaml")
            url = local.system.nats_url
            answer = dra(tmp_path, "allocate", "-f", str(example), "--nats", url)
            assert answer.returncode == 0, answer.stderr
            objects = [one for one in yaml.safe_load_all(answer.stdout) if one]
            said = places(
                *([o for o in objects if o["kind"] == k] for k in ("Pod", "ResourceClaim"))
            )
            await local.apply(number)
            await local.cluster.settled()
            assert await seen(local, objects[0]["metadata"]["namespace"]) == said
