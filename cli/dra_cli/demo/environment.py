"""Reads what a container printed with `export`: its variables, and the GPUs they tell of. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

Container = Mapping[str, str]
"""A container's environment."""

SHOWN: Final = ("GPU_DEVICE_", "DRA_", "KUBERNETES_NODE_NAME")
"""What the variables that a driver sets begin with."""


class Gpu(msgspec.Struct, frozen=True, order=True):
    """A GPU as a container sees it. `setting`: the time slice, or the number of partitions."""

    node: str
    name: str
    sharing: str
    setting: str
    admin: bool


def parse(log: str) -> dict[str, str]:
    """The variables in lines of the form `declare -x NAME="value"`."""
    return {match[1]: match[2] for match in _DECLARED.finditer(log)}


def driver_lines(log: str) -> Iterator[str]:
    """The lines of a log that the driver's variables stand in, as they are."""
    for line in log.splitlines():
        match = _DECLARED.fullmatch(line)
        if match and match[1].startswith(SHOWN):
            yield line


def gpus(container: Container) -> tuple[Gpu, ...]:
    """The GPUs that a container sees, by name."""
    names = [key for key in container if _GPU.fullmatch(key)]
    return tuple(
        sorted(
            Gpu(
                node=container.get("KUBERNETES_NODE_NAME", ""),
                name=container[name],
                sharing=container.get(f"{name}_SHARING_STRATEGY", ""),
                setting=container.get(f"{name}_TIMESLICE_INTERVAL")
                or container.get(f"{name}_PARTITION_COUNT", ""),
                admin=container.get("DRA_ADMIN_ACCESS") == "true",
            )
            for name in names
        )
    )


_DECLARED: Final = re.compile(r'^declare -x (\w+)="(.*)"$', re.MULTILINE)
_GPU: Final = re.compile(r"GPU_DEVICE_\d+")
