"""All profiles by name, and what their drivers are called."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dra_node_agent.core.profiles.cpu import Cpu
from dra_node_agent.core.profiles.gpu import Gpu
from dra_node_agent.core.profiles.net import Net
from dra_node_agent.core.profiles.profile import Profile

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {profile.name: profile for profile in (Gpu(), Net(), Cpu())}
)


def driver_name(profile: Profile) -> str:
    """The driver that offers the profile's devices."""
    return f"{profile.name}.example.com"
