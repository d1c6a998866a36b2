"""What the containers of each example must print. Pure: text in, findings out.

The examples are those of the public DRA example driver; which GPU a container gets is free, but
who shares one and who does not is not.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from dra_cli.demo.environment import Container, Gpu, gpus

DRIVER: Final = "gpu.example.com"


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Containers (`pod/container`) that see the same GPUs; `gpus` None: all of their node."""

    containers: tuple[str, ...]
    gpus: int | None = 1
    sharing: str = "TimeSlicing"
    setting: str = "Default"
    admin: bool = False


EXAMPLES: Final[Mapping[str, tuple[Group, ...]]] = MappingProxyType(
    {
        "basic-resourceclaimtemplate": (
            Group(containers=("pod0/ctr0",)),
            Group(containers=("pod1/ctr0",)),
        ),
        "basic-multiple-requests": (Group(containers=("pod0/ctr0",), gpus=2),),
        "basic-shared-claim-across-containers": (Group(containers=("pod0/ctr0", "pod0/ctr1")),),
        "basic-shared-claim-across-pods": (Group(containers=("pod0/ctr0", "pod1/ctr0")),),
        "basic-resourceclaim-opaque-config": (
            Group(containers=("pod0/ts-ctr0", "pod0/ts-ctr1"), setting="Long"),
            Group(
                containers=("pod0/sp-ctr0", "pod0/sp-ctr1"),
                sharing="SpacePartitioning",
                setting="10",
            ),
        ),
        "initcontainer-shared-gpu": (Group(containers=("pod0/init0", "pod0/ctr0")),),
        "admin-access": (Group(containers=("pod0/ctr0",), gpus=None, admin=True),),
        "cel-selector": (Group(containers=("pod0/ctr0",)),),
    }
)
"""By namespace; a GPU that one group sees, no other group sees, but for admin access."""


Taken = dict[tuple[str, str], str]
"""Which container was seen first with a GPU, by node and GPU."""


def findings(containers: Mapping[str, Container], gpus_per_node: int) -> Iterator[str]:
    """What is not as it should be; `containers` by `namespace/pod/container`, whole examples."""
    taken: Taken = {}
    for namespace in sorted({name.split("/")[0] for name in containers}):
        for group in EXAMPLES[namespace]:
            members = [f"{namespace}/{member}" for member in group.containers]
            seen = {name: gpus(containers[name]) for name in members if name in containers}
            yield from (f"{name} has printed nothing" for name in members if name not in seen)
            yield from _of_group(group, seen, gpus_per_node, taken)
    for name, container in sorted(containers.items()):
        yield from _surroundings(name, container)


def _of_group(
    group: Group, seen: Mapping[str, tuple[Gpu, ...]], all_gpus: int, taken: Taken
) -> Iterator[str]:
    if not seen:
        return
    first, *others = seen
    yield from _as_expected(first, seen[first], group, all_gpus)
    if not group.admin:
        yield from _exclusive(first, seen[first], taken)
    for other in others:
        if seen[other] != seen[first]:
            yield f"{other} does not see what {first} sees"


def _as_expected(name: str, seen: tuple[Gpu, ...], group: Group, all_gpus: int) -> Iterator[str]:
    count = all_gpus if group.gpus is None else group.gpus
    if len(seen) != count:
        yield f"{name} sees {len(seen)} GPUs, not {count}"
    for gpu in seen:
        if (gpu.sharing, gpu.setting) != (group.sharing, group.setting):
            wanted = f"{group.sharing}/{group.setting}"
            yield f"{name}: {gpu.name} is {gpu.sharing}/{gpu.setting}, not {wanted}"
        if gpu.admin != group.admin:
            yield f"{name}: {gpu.name} has admin access {gpu.admin}, not {group.admin}"


def _exclusive(name: str, seen: tuple[Gpu, ...], taken: Taken) -> Iterator[str]:
    for gpu in seen:
        other = taken.setdefault((gpu.node, gpu.name), name)
        if other != name:
            yield f"{name} and {other} both have {gpu.name} of {gpu.node}"


def _surroundings(name: str, container: Container) -> Iterator[str]:
    if container.get("DRA_RESOURCE_DRIVER_NAME") != DRIVER:
        yield f"{name}: DRA_RESOURCE_DRIVER_NAME is not {DRIVER}"
    if not container.get("KUBERNETES_NODE_NAME"):
        yield f"{name}: KUBERNETES_NODE_NAME is not set"
    claims = [value for key, value in container.items() if _CLAIM.fullmatch(key)]
    if not claims or not all(_UID.fullmatch(claim) for claim in claims):
        yield f"{name}: no GPU_DEVICE_..._RESOURCE_CLAIM names the claim's uid"


_CLAIM: Final = re.compile(r"GPU_DEVICE_\w+_RESOURCE_CLAIM")
_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
